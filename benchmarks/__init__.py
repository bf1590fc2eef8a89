"""Measurements that anyone can repeat; a timing is never a test."""
