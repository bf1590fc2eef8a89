"""The ground floor: what a key and a metric are, and the words that several rooms share, each declared once.

A key is something that a grid sets, a metric something that is measured, a fact says where a row comes from. Tasks, networks,
trainings and metrics of a user's own declare further ones in their own files; the results carry these declarations with them.
"""
