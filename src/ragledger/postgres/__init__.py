"""The only place, with `schema` and `embedded`, that knows the driver."""
