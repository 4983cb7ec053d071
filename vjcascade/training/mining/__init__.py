"""Hard-negative mining: windows of photos without the object that the cascade so far accepts."""
