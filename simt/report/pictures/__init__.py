"""Pictures of a profile, one file each. Every function returns a matplotlib Figure, ready for any format, screen or none.

    access_map.py   which sector of which 128-byte line, or which bank, each lane of a warp touches
    bank_grid.py    the same shared access, word by word: who waits for whom
    mix.py          instructions by class
    roofline.py     launches below the roof of their device
"""
