# Makes BIOM 1.0 documents at random, and says what the reference implementation reads in them.
#   python biom-tables.py SEED COUNT;  stdout: JSON list of {text, encoding, cells, hdf5}, where cells
#   are [row, column, value], and hdf5 (of some) is the same table in BIOM 2, in base64, with its cells when converted to JSON
import base64, io, json, os, random, sys, tempfile
import h5py
from biom import Table

random.seed(int(sys.argv[1]))
WORDS = ["O", "seq", "Größe", "日本", "g__Böttcheria", "a b", "x;y", "1,5", '"q"', "\\", "'", "\ufffd", "😀", "e\u0301", "4.68", "-0"]

def ids(count, most):
    made = {}
    while len(made) < count:
        made["".join(random.choice(WORDS) for _ in range(random.randint(1, most))) + str(random.randint(0, 9999))] = None
    return list(made)

def number(whole):
    if random.random() < 0.4:
        return 0
    if whole:
        return random.choice([random.randint(-9, 9), random.randint(1, 10**6), 2**53 - 1, -(2**53) + 1, 3.0, 1e3])
    return random.choice([random.random(), random.uniform(-1e6, 1e6), 5e-324, 1.7976931348623157e308, 1e-7, 12345678901234567890, 7])

def metadata():
    kind = random.random()
    if kind < 0.4:
        return None
    return random.choice([{"taxonomy": [random.choice(WORDS), "p__"]}, {"taxonomy": "k__A; p__" + random.choice(WORDS)}, {"n": 1.5, "x": None, "y": [True, {}]}])

def document():
    height, width = random.randint(1, 40), random.randint(1, 12)
    whole = random.random() < 0.5
    dense = random.random() < 0.5
    grid = [[number(whole) for _ in range(width)] for _ in range(height)]
    cells = [[r, c, grid[r][c]] for r in range(height) for c in range(width) if grid[r][c] != 0 or random.random() < 0.1]
    random.shuffle(cells)
    members = [
        ("id", random.choice([None, "x"])),
        ("format", random.choice(["Biological Observation Matrix 1.0.0", "Biological Observation Matrix 1.0.0-dev"])),
        ("format_url", "http://biom-format.org"),
        ("type", random.choice(["OTU table", "Gene table", "Taxon table"])),
        ("generated_by", "test"),
        ("date", "2024-01-01T00:00:00"),
        ("matrix_type", "dense" if dense else "sparse"),
        ("matrix_element_type", "int" if whole else "float"),
        ("shape", [height, width]),
        ("data", grid if dense else cells),
        ("rows", [{"id": i, "metadata": metadata()} for i in ids(height, 5)]),
        ("columns", [{"id": i, "metadata": metadata()} for i in ids(width, 3)]),
    ]
    random.shuffle(members)
    return dict(members)

def read(table):
    matrix = table.matrix_data.tocoo()
    rows, columns = table.ids("observation"), table.ids("sample")
    return [[str(rows[r]), str(columns[c]), float(v)] for r, c, v in zip(matrix.row, matrix.col, matrix.data) if v != 0]

def hdf5(table):
    path = os.path.join(tempfile.mkdtemp(), "t.biom")
    bare = Table(table.matrix_data, table.ids("observation"), table.ids("sample"))
    with h5py.File(path, "w") as file:
        bare.to_hdf5(file, "test")
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    # It rounds decimals when it writes JSON.
    return {"bytes": data, "cells": read(Table.from_json(json.loads(bare.to_json("test"))))}

def text_of(i):
    if i % 5 == 4:
        # As the reference implementation itself writes them.
        return Table.from_json(document()).to_json("test")
    return json.dumps(document(), ensure_ascii=random.random() < 0.5, indent=random.choice([None, None, 1, "\t"]))

made = []
unread = 0
while len(made) < int(sys.argv[2]):
    i = len(made)
    try:
        text = text_of(i)
        table = Table.from_json(json.loads(text))
    except Exception:
        # It reads no table of zeros only, for example.
        unread += 1
        assert unread < 50 + i
        continue
    made.append({
        "text": text,
        "encoding": random.choice(["utf8", "utf8", "utf8", "marked", "utf16le"]),
        "cells": read(table),
        "hdf5": hdf5(table) if i % 40 == 0 else None,
    })
json.dump(made, sys.stdout)
