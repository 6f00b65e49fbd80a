"""What a text claims: its lines as objects, how they are written, and what is known of them."""
