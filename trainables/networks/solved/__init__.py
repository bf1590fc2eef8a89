"""Networks that are not trained but solved for, by ridge regression on their features or kernel."""
