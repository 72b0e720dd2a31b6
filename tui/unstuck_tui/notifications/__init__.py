"""Notifications for a person who looks elsewhere: when one is due, and how it goes out."""
