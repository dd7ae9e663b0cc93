import fc from 'fast-check';
import t from 'tap';
import { type JsonPath, scanJson } from '../../../config/samples/json-scan.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

t.test('every value of any JSON is found where it stands', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
      const document: unknown = JSON.parse(json);
      const text = JSON.stringify(document, undefined, indent);
      const found: [JsonPath, unknown][] = [];
      const fault = scanJson(text, (path, start, end) => found.push([[...path], JSON.parse(text.slice(start, end))]));
      return (
        fault === undefined &&
        found.every(([path, value]) => JSON.stringify(at(document, path)) === JSON.stringify(value)) &&
        found.at(-1)?.[0].length === 0
      );
    }),
    { numRuns: 300 },
  );
});

t.test('what is no JSON to the engine is none here, however a document is broken', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.string({ maxLength: 2 }), fc.nat(3), (json, where, put, cut) => {
      const at = where % (json.length + 1);
      const broken = json.slice(0, at) + put + json.slice(at + cut);
      const fault = scanJson(broken);
      return isJson(broken) ? fault === undefined || /stands twice|surrogate/.test(fault) : fault !== undefined;
    }),
    { numRuns: 2_000 },
  );
});

t.test('a fault is told with line, column and what stands there', async (t) => {
  const faults: readonly (readonly [json: string, fault: string])[] = [
    ['', 'line 1, column 1: the file ends where a value should be'],
    ['{\n "a": NaN}', "line 2, column 7: found 'NaN' where a value should be"],
    ['[1, Infinity]', "line 1, column 5: found 'Infinity' where a value should be"],
    ['[1 2]', "line 1, column 4: found '2' where a comma or ']' should be"],
    ['[01]', "line 1, column 3: found '1' where a comma or ']' should be"],
    ['[1.]', "line 1, column 3: found '.' where a comma or ']' should be"],
    ['[1,]', "line 1, column 4: found ']' where a value should be"],
    ['{"a":1,}', "line 1, column 8: found '}' where a name in double quotes should be"],
    ["{'a':1}", "line 1, column 2: found ''a'' where a name in double quotes or '}' should be"],
    ['{"a" 1}', "line 1, column 6: found '1' where a colon should be"],
    ['[1]]', "line 1, column 4: found ']' where the end of the file should be"],
    ['["a\tb"]', "line 1, column 4: found '\\t' where a character of a text or an escape should be"],
    ['["a\\x"]', "line 1, column 4: found '\\x\"' where a character of a text or an escape should be"],
    ['["a', 'line 1, column 2: the text "a is not closed'],
    ['["\\ud800"]', 'line 1, column 2: the text "\\ud800" holds half of a surrogate pair, which is no character'],
    [
      '["a\\uDC00\\ud800"]',
      'line 1, column 2: the text "a\\uDC00\\ud800" holds half of a surrogate pair, which is no character',
    ],
    ['{"\\udfff": 1}', 'line 1, column 2: the text "\\udfff" holds half of a surrogate pair, which is no character'],
    ['{"a": 1,\r\n"a": 2}', 'line 2, column 1: the member "a" stands twice'],
    ['{"b":{"a": 1, "\\u0061": 2}}', 'line 1, column 15: the member "\\u0061" stands twice'],
    [`${'['.repeat(101)}`, 'line 1, column 101: is nested deeper than 100 levels'],
    ['// x\n{}', "line 1, column 1: found '//' where a value should be"],
    ['tru', "line 1, column 1: found 'tru' where a value should be"],
  ];
  for (const [json, fault] of faults) t.equal(scanJson(json), fault, json);
  t.equal(scanJson('["\\ud83d\\ude00", "😀"]'), undefined);
});

const db = await sampleDatabase(t);

t.test('a BIOM file is refused with what it holds, not with what the parser made of it', async (t) => {
  const run = await sampleRun(t, 'biom', db);
  const biom = (type: string, data: string, id = '"O1"'): string =>
    `{"format": "Biological Observation Matrix 1.0.0", "type": "OTU table", "matrix_type": "sparse",\n` +
    ` "matrix_element_type": "${type}", "shape": [1, 1],\n "data": [[0, 0, ${data}]],\n` +
    ` "rows": [{"id": ${id}, "metadata": null}], "columns": [{"id": "S1", "metadata": null}]}`;
  const RANGE = 'whole numbers from -9007199254740991 to 9007199254740991 can be kept';
  const DOUBLE = 'it is beyond the range of numbers of 64 bits (about 1.8e308)';
  const values: readonly (readonly [type: string, value: string, rule: string])[] = [
    ...['9007199254740993', '-9007199254740992', '1e16', '123456789012345678901234567890', '1e400'].map(
      (value) => ['int', value, RANGE] as const,
    ),
    ...['0.5', '-1e-3', '"7"', 'null', 'true', '[1]', '{"a": 1}', '"\\u0031"', '""'].map(
      (value) => ['int', value, 'it must be a whole number'] as const,
    ),
    ...['1e309', '-1E+999', '1'.repeat(310)].map((value) => ['float', value, DOUBLE] as const),
    ...['"7"', 'null', 'false', '"NaN"'].map((value) => ['float', value, 'it must be a number'] as const),
  ];
  for (const [type, value, rule] of values) {
    const quoted = value.length > 60 ? `${value.slice(0, 60)}...` : value;
    await run.refuses(
      [{ name: 'a.biom', text: biom(type, value) }],
      [`line 3, column 18: 'data[0][2]' is ${quoted}; ${rule}`],
    );
  }
  const ID = 'it must be text of 1 to 1000 bytes in UTF-8 without tabs or line ends';
  for (const id of ['468', '1.50', '-0', '1e2'])
    await run.refuses(
      [{ name: 'a.biom', text: biom('int', '1', id) }],
      [`line 4, column 18: 'rows[0].id' is ${id}; ${ID} (write numbers in double quotes)`],
    );
  for (const id of ['null', '""', '"a\\tb"', '"\\u0000"', '["a"]', 'true'])
    await run.refuses(
      [{ name: 'a.biom', text: biom('int', '1', id) }],
      [`line 4, column 18: 'rows[0].id' is ${id}; ${ID}`],
    );
  t.equal((await run.import([{ name: 'a.biom', text: biom('int', '9007199254740991') }])).exit, 0);
  t.equal((await run.import([{ name: 'a.biom', text: biom('float', '1.7976931348623157e308') }])).exit, 0);
});

function at(document: unknown, path: JsonPath): unknown {
  let value = document as Record<string | number, unknown>;
  for (const step of path) value = value[step] as Record<string | number, unknown>;
  return value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
