"""The pages of the app, in the order of the navigation."""

# Modules of app/screens, their titles and what they are for. (Streamlit would run those of a folder `pages` as scripts; a deep
# link that is the first request of a server would then show nothing.)
PAGES = {
    "home": ("Home", "Each sweep's main result, its progress, its verdicts, and what to look at next"),
    "networks": ("Networks", "All networks in a table, their training curves, and two side by side"),
    "curves": ("Curves", "Any measure against any key, with intervals, theory and residuals"),
    "dimension": ("Dimension", "Accuracy over L and d, the L that suffices and its exponent"),
    "noise": ("Noise", "Noisy symbols beside the Bayes classifiers"),
    "relations": ("Relations", "Strings of templates: how many each network needs to tell relations on symbols it never saw"),
    "structure": ("Structure", "Hidden weights of one network, and its training curves"),
    "richness": ("Richness", "How rich one network is: the spectrum of its features, D_LR, and both along training"),
    "scaling": ("Scaling", "Thresholds, exponents beside predictions, collapse"),
    "specialisation": (
        "Specialisation",
        "At equilibrium: which pattern of feature learning wins, and neurons that turn to the target",
    ),
    "studies": ("Studies", "Laws and papers, each with its words, figures, statements, and what is missing"),
    "claims": ("Claims", "The paper's statements and whether these networks confirm them"),
    "sql": ("SQL", "Questions of your own"),
    "more": ("What else this can show", "Pages that have nothing to show for these networks yet, and what fills them"),
}
HOME, MORE = "home", "more"
"""The page at the bare address, whose text needs neither pandas nor charts, and the page of those that have nothing to show."""
FORMER = {"overview": HOME}
"""Addresses that pages had before, so that old links work."""
