// What people really send is installed right, or refused in words that they understand.

import type { HoldingTest, PromiseRow } from '../promises.ts';

const at = (file: string, test: string): HoldingTest => ({ file: `test/${file}`, test });
const ARCHIVES = 'engine/archive/real-names.test.ts';
const FORMS = 'http/kernel/bodies/multipart.test.ts';

export const FILES: readonly PromiseRow[] = [
  {
    id: 'every-part-counts',
    promise: 'Every part of a form is taken or refused by its place: uploads, handler jobs, plugin calls.',
    heldBy: [
      at(FORMS, 'a part that cannot be used is refused by its place, whatever is wrong with it'),
      at(FORMS, 'a part whose headers have no end, or that stands outside of the delimiters, is refused'),
    ],
  },
  {
    id: 'every-entry-counts',
    promise: 'Every entry of an archive is unpacked, or the archive is refused and the entry named.',
    heldBy: [
      at(ARCHIVES, 'bytes behind the end of an archive are refused, zeros and further members are not'),
      at(ARCHIVES, 'a folder of an old tar is a folder, and one with content is refused'),
      at('engine/archive/tar-entries.test.ts', 'a pax header with a line that is none is a fault, as it is to GNU tar'),
      at('stack/archives.test.ts', 'the same names and bytes as other programs unpack, or a refusal that a rule names'),
    ],
  },
  {
    id: 'every-output-counts',
    promise: 'Every file that a command of a handler job or an import script leaves is kept or named.',
    heldBy: [
      at(
        'http/handler/run-job.test.ts',
        'every other end of a command is 500 with the id of the request, and says which command',
      ),
      at(
        'actors/plugin-host/plugin-host.test.ts',
        'an import that ends badly says how, and what the author of the plugin has to change',
      ),
    ],
  },
  {
    id: 'reserved-names',
    promise: 'Names of our own files are refused at the door, so that ours never take the place of theirs.',
    heldBy: [
      at(
        'actors/tasks/pack-upload.test.ts',
        'names that are ours are refused at the top, where our files would take their place',
      ),
    ],
  },
  {
    id: 'whole-files-from-urls',
    promise: 'From a URL we take 200 with the whole body only.',
    heldBy: [at('engine/adapters/remote/remote-http.test.ts', 'only 200 brings a file, or 206 with all of it')],
  },
  {
    id: 'strict-text',
    promise: 'Text from outside is decoded strictly, and U+FFFD in a name is a character like any other.',
    heldBy: [
      at('strict-text.test.ts', 'nothing decodes text with loss but what is listed, with its reason'),
      at(ARCHIVES, 'U+FFFD that is in a name is text, and so is every other character'),
      at(
        'http/handler/run-job.test.ts',
        'names are text in any script, U+FFFD too; what desktops add is left out and the job says so',
      ),
    ],
  },
  {
    id: 'other-code-pages',
    promise: 'Names in other code pages are converted and that is said, or refused with what they may read.',
    heldBy: [
      at(
        ARCHIVES,
        'names of zips that are not UTF-8 are read in code page 437 where only that makes sense, and it is said',
      ),
      at(ARCHIVES, 'other names that are not UTF-8 are refused, with what they may read and what to do'),
    ],
  },
  {
    id: 'same-name-from-every-client',
    promise: 'A file name in any script is stored alike, whichever client sends it.',
    heldBy: [
      at(FORMS, 'file names in five scripts come alike from every client'),
      at('stack/upload-clients.test.ts', 'every client that people use brings a name to the same file, in any script'),
      at('stack/upload-clients.test.ts', 'a name that we do not take is refused by name, whoever sends it'),
    ],
  },
  {
    id: 'desktop-junk',
    promise: 'Files that desktops and office programs add are left out, loose or packed, and named once.',
    heldBy: [
      at('engine/archive/entry-path.test.ts', 'what desktops and office programs add is dropped, and so is the root'),
      at(ARCHIVES, 'what desktops add is left out and named once, few names of many'),
      at(
        'actors/tasks/pack-upload.test.ts',
        'what was left out or read in another way is said, of loose files and of archives',
      ),
    ],
  },
  {
    id: 'names-as-people-see-them',
    promise: 'Names are compared in one Unicode form and with one kind of slash on both sides.',
    heldBy: [
      at(ARCHIVES, 'backslashes are read as folders, and it is said'),
      at(
        'config/samples/rnaseq.test.ts',
        'names are compared as people see them: whatever their Unicode form, their case and their slashes',
      ),
    ],
  },
  {
    id: 'first-cause',
    promise: 'A stream that fails tells the first cause, and no error passes for a stop of ours.',
    heldBy: [
      at(
        'http/installer/uploads/upload-limits.test.ts',
        'what streams say of the end of each other is never the reason, whoever failed first',
      ),
      at(
        'http/kernel/pipeline/request-log.test.ts',
        'every 5xx is logged with the id that the caller is told, and no error passes for a stop of ours',
      ),
    ],
  },
  {
    id: 'full-disk-blames-nobody',
    promise: 'A script that meets a full disk or database is run again later, and blames neither data nor plugin.',
    heldBy: [
      at(
        'config/samples/full-disk.test.ts',
        'a script whose disk is full says nothing to the owner and asks to be run later',
      ),
      at(
        'config/samples/full-disk.test.ts',
        'so does a script whose database is full, and no other failure passes for that',
      ),
      at(
        'http/plugin-host/failure-matrix.test.ts',
        'each failure of a script has its answer, and leaves nothing behind',
      ),
    ],
  },
  {
    id: 'no-failure-kept',
    promise: 'A report waits for a database that is away, and no answer of that time is kept.',
    heldBy: [
      at(
        'actors/report/report-run.test.ts',
        'a database that is away is waited for, and the answer that is kept is the one of when it is back',
      ),
    ],
  },
];
