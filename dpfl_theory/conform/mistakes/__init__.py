"""The known mistakes, by subject; each is a round with some parts replaced."""
