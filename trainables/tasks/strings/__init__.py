"""Template tasks: which relation holds between the symbols of a string, for symbols never seen? [Boix23]"""
