# Writes tables with Python's csv module as their settings say, and reads them back with the same settings.
#   stdin: JSON list of {settings, rows};  stdout: JSON list of {bytes (base64), rows} or {error}
import base64, csv, io, json, sys

csv.field_size_limit(10_000_000)

def made(table):
    s = table["settings"]
    how = dict(
        delimiter=s["delimiter"],
        quotechar=s["quotechar"],
        quoting=getattr(csv, "QUOTE_" + s["quoting"]),
        doublequote=s["doublequote"],
        escapechar=s["escapechar"],
    )
    out = io.StringIO(newline="")
    try:
        # Numbers are written as numbers, which QUOTE_NONNUMERIC leaves without quotes.
        numbers = lambda cell: int(cell) if cell.lstrip("-").isdigit() and cell.isascii() else cell
        rows = [[numbers(cell) for cell in row] for row in table["rows"]]
        csv.writer(out, lineterminator=s["lineterminator"], **how).writerows(rows)
        encoding = s["encoding"]
        try:
            data = out.getvalue().encode(encoding)
        except UnicodeEncodeError:
            encoding = "utf-8"
            data = out.getvalue().encode(encoding)
        if how["quoting"] == csv.QUOTE_NONNUMERIC:
            how["quoting"] = csv.QUOTE_MINIMAL  # else the reader turns what has no quotes into floats
        text = io.StringIO(data.decode(encoding), newline="")
        rows = [row for row in csv.reader(text, **how) if row]
    except (csv.Error, ValueError) as error:
        return {"error": str(error)}
    return {"bytes": base64.b64encode(data).decode(), "rows": rows}

json.dump([made(table) for table in json.load(sys.stdin)], sys.stdout)
