"""Keys, metrics and facts: the terms themselves, and those that several rooms share, each declared once.

A key is something that a grid sets, a metric is something that is measured, and a fact says where a row comes from. Tasks,
networks, trainings and metrics on request, a user's own included, declare further ones in their own files. The results carry
these declarations with them.
"""
