"""A scene in, pixels out. One meaning, several backends."""
