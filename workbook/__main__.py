"""`python -m workbook …`, which is what the `ladder` launcher runs."""

import sys

if __name__ == "__main__":
    try:
        from workbook.cli import main
    except KeyboardInterrupt:  # Ctrl-C while this is still being imported
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    main()
