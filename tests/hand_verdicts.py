"""Verdicts reached by hand on the lines of the paper that are about numbers or matrices.

They come from reading the text with pencil and paper, line by line; the reasons are in the `flaw`
of each claim.
"""

from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import AlongTrajectory

REFUTED = """
2.1; Theorem 4.1; 4.2; after 4.2 (iii); 4.3; B.2; C.2; C.5; C.13; C.20; C.21; D.1; D.2;
Assumption D.5; D.10; Corollary D.1 (its sum);
before D.12; D.12; D.13; D.15; D.17; D.20; T_1 (Lemma D.1);
D.24; before D.29; T_1 (Lemma D.2);
before D.37 (semidefinite); D.46; before D.47; D.47; D.48;
D.61; D.72;
t_0 (Lemma D.8); t* (Lemma D.8); D.76;
Assumption D.1 (d > s); after D.77 (Lemma D.7 asks for more); D.81 (with the right t_0)
"""
AS_REFUTED = {name.strip() for name in REFUTED.split(";")}

LINES = [
    claim
    for claim in text.claims()
    if claim.edition != "repaired" and not isinstance(claim.conclusion, AlongTrajectory)
]
