"""Studies: a law or a paper is one folder, and anybody can bring one. Here they are loaded and asked for what they bring."""
