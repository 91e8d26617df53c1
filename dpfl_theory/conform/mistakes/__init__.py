"""The mistakes that are known by name, by what they are about; each is a round with some parts replaced."""
