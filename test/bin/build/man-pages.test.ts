import t from 'tap';
import { manPages } from '../../../bin/build/man-pages.ts';
import { allCommands, COMMANDS, isGroup } from '../../../bin/cli/command-table.ts';

const pages = manPages({ version: '1.2.3', date: '2026-01-31' });

t.test('the program, every command and every group has a page', async (t) => {
  const groups = Object.keys(COMMANDS).filter((name) => COMMANDS[name] && isGroup(COMMANDS[name]));
  const names = [...groups, ...allCommands().map(({ name }) => name)];
  t.strictSame(
    Object.keys(pages).sort(),
    ['longshore.1', ...names.map((name) => `longshore-${name.replaceAll(' ', '-')}.1`)].sort(),
  );
});

t.test('a page has what help has', async (t) => {
  const page = pages['longshore-datasets-share.1'] ?? '';
  const lines = [
    '.TH "LONGSHORE\\-DATASETS\\-SHARE" 1 "2026\\-01\\-31" "longshore 1.2.3" "Longshore"',
    'longshore\\-datasets\\-share \\- offer a dataset to another user, or withdraw the offer',
    'longshore datasets share ID \\-\\-with USER [OPTIONS]',
    '\\fIID\\fR',
    '\\fB\\-\\-with\\fR \\fIUSER\\fR',
    'the id of the other user (required)',
    '\\fB\\-\\-revoke\\fR',
    'longshore datasets share 0VbfWYbontYX1Se4 \\-\\-with 42',
    '\\fBlongshore\\fR(1), \\fBlongshore\\-datasets\\fR(1)',
  ];
  for (const line of lines) t.ok(page.split('\n').includes(line), line);
});

t.test('no text of the table is taken for a request or an escape', async (t) => {
  const requests = /^\.(TH|nh|ad l|SH|SS|PP|TP|RS|RE|EX|EE)( |$)/;
  for (const [name, page] of Object.entries(pages)) {
    for (const line of page.split('\n')) {
      if (/^[.']/.test(line)) t.match(line, requests, name);
      t.strictSame(line.replaceAll(/\\(fB|fI|fR|-|e|&|\(aq|\(ga|\(ha|\(ti|\(dq)/g, '').includes('\\'), false, line);
      t.notMatch(line, /[^\x20-\x7e]/, name);
    }
  }
});
