import t from 'tap';
import { remoteFileName } from '../../../../engine/adapters/remote/remote-file-name.ts';

const nameOf = (disposition: string | undefined, url = 'https://example.org/dir/genes.txt'): string =>
  remoteFileName(disposition, new URL(url));
/** As a header arrives: bytes as Latin-1. */
const onTheWire = (text: string): string => Buffer.from(text).toString('latin1');

t.test('the server has the first word', async (t) => {
  for (const [header, name] of [
    ['attachment; filename="my genes.txt"', 'my genes.txt'],
    ['attachment; filename=a.txt', 'a.txt'],
    ['inline; FILENAME=a.txt', 'a.txt'],
    ["attachment; filename=x.txt; filename*=UTF-8''na%C3%AFve%20genes.txt", 'naïve genes.txt'],
    ["attachment; filename*=ISO-8859-1''%E9.txt", 'é.txt'],
    ['attachment; filename="a\\"b.txt"', 'a"b.txt'],
    [onTheWire('attachment; filename="génes λ.txt"'), 'génes λ.txt'],
    ['attachment; filename="\u00e9.txt"', 'é.txt'],
    ['attachment; filename="e\u0301.txt"', 'é.txt'],
  ] as const)
    t.equal(nameOf(header), name, header);
});

t.test('of a path only the last part counts', async (t) => {
  for (const header of [
    'attachment; filename="../../etc/a.txt"',
    'attachment; filename="/root/a.txt"',
    'attachment; filename="C:\\\\data\\\\a.txt"',
    "attachment; filename*=UTF-8''..%2F..%2Fa.txt",
  ])
    t.equal(nameOf(header), 'a.txt', header);
});

t.test('a name that is none gives way to that of the URL', async (t) => {
  for (const header of [
    undefined,
    '',
    'attachment',
    'attachment; filename=""',
    'attachment; filename=".."',
    'attachment; filename="dir/"',
    "attachment; filename*=UTF-8''a%0Ab.txt",
    `attachment; filename="${'x'.repeat(256)}"`,
    ';;;=',
  ])
    t.equal(nameOf(header), 'genes.txt', header ?? 'no header');
});

t.test('the last part of the path, decoded, without query, else `upload`', async (t) => {
  for (const [url, name] of [
    ['https://example.org/a/gen%C3%A9.txt?sig=1#x', 'gené.txt'],
    ['https://example.org/a/..%2F..%2Fpasswd', 'passwd'],
    ['https://example.org/a/x%5Cy.txt', 'y.txt'],
    ['https://example.org/100%.txt', '100%.txt'],
    ['https://example.org/a/b/', 'upload'],
    ['https://example.org', 'upload'],
    ['https://example.org/%00', 'upload'],
    ['https://example.org/%2e%2e%2f', 'upload'],
    [`https://example.org/${'x'.repeat(300)}`, 'upload'],
  ] as const)
    t.equal(nameOf(undefined, url), name, url);
});
