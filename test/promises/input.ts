// What strangers send cannot leave its place, grow without end or be obeyed.

import type { PromiseRow } from '../promises.ts';

export const INPUT: readonly PromiseRow[] = [
  {
    id: 'names-never-paths',
    promise: 'File names, ids and keys from outside never become paths out of their folder.',
    heldBy: [
      { file: 'test/http/installer/documents.test.ts', test: 'a name is a label and never a path' },
      { file: 'test/http/handler/put-job.test.ts', test: 'any text of 1 to 128 characters is an id, never a path' },
      {
        file: 'test/actors/plugin-host/plugin-host.test.ts',
        test: 'a request is checked before any of it becomes a path',
      },
      {
        file: 'test/engine/adapters/directory/object-store.test.ts',
        test: 'keys that could leave the store are refused',
      },
    ],
  },
  {
    id: 'archive-traversal',
    promise: 'An archive writes nothing outside its folder: no links, devices, .., absolute or duplicate names.',
    heldBy: [
      {
        file: 'test/engine/archive/entry-path.test.ts',
        test: 'no path that is kept leaves the directory, whatever the name',
      },
      { file: 'test/engine/archive/unpack.test.ts', test: 'a hostile archive writes nothing outside' },
      { file: 'test/engine/archive/unpack.test.ts', test: 'never writes through a link or over a file that is there' },
      {
        file: 'test/http/plugin-host/hostile-archives.test.ts',
        test: '…: each hostile archive is refused, and nothing is left of it',
      },
    ],
  },
  {
    id: 'archive-refused',
    promise: 'We refuse encrypted, split, damaged and lying archives, and name the entry.',
    heldBy: [
      { file: 'test/engine/archive/zip-reader.test.ts', test: 'refuses entries, naming them' },
      {
        file: 'test/engine/archive/zip-reader.test.ts',
        test: 'refuses archives that are empty, split, cut off or no zip at all',
      },
      { file: 'test/engine/archive/zip-reader.test.ts', test: 'refuses sizes that lie, small and large' },
      { file: 'test/engine/archive/tar.test.ts', test: 'refuses entries, naming them' },
    ],
  },
  {
    id: 'names-as-seen',
    promise: 'No name or text of a user holds a control character or one that changes the direction of text.',
    heldBy: [
      {
        file: 'test/attack/hidden-characters.test.ts',
        test: 'no name with hidden characters gets in, and the answer says which and where',
      },
      {
        file: 'test/http/kernel/input/json-schema.test.ts',
        test: 'a hidden character is named with its code and place, wherever the text stands',
      },
      {
        file: 'test/engine/model/file-name.test.ts',
        test: 'every control character and every one that turns text is found, with its code and place',
      },
    ],
  },
  {
    id: 'archive-work',
    promise:
      'What an archive costs to unpack is bounded in entries, bytes of names and time; a refusal says bound and number.',
    heldBy: [
      {
        file: 'test/attack/many-entries.test.ts',
        test: 'an archive of … empty files is refused at once, with the bound and the number',
      },
      { file: 'test/engine/archive/archive-limits.test.ts', test: 'names of all entries are bounded together' },
      {
        file: 'test/engine/archive/archive-limits.test.ts',
        test: 'time is bounded, in the directory and in the content',
      },
    ],
  },
  {
    id: 'url-tells-nothing-inside',
    promise: 'The answer to a URL does not tell a name that does not exist from one that leads inside, or a port.',
    heldBy: [
      {
        file: 'test/engine/adapters/remote/remote-http.test.ts',
        test: 'what does not exist, what is inside and what is at another port are told alike',
      },
    ],
  },
  {
    id: 'archive-bombs',
    promise: 'An archive has at most 100,000 entries and, above 100 MiB, at most 1000 times its compressed size.',
    heldBy: [
      {
        file: 'test/engine/archive/zip-reader.test.ts',
        test: 'refuses a bomb once it has inflated more than 100 MiB at 1:1000',
      },
      { file: 'test/engine/archive/zip-reader.test.ts', test: '100,000 entries pass and 100,001 do not' },
      { file: 'test/engine/archive/zip-reader.test.ts', test: 'refuses a bomb whose entries share one body' },
      {
        file: 'test/engine/archive/tar.test.ts',
        test: 'refuses a bomb once it has inflated more than 100 MiB at 1:1000',
      },
    ],
  },
  {
    id: 'fetch-public-only',
    promise:
      'We fetch user URLs from public addresses only, and check the address at each connection and after each redirect.',
    heldBy: [
      {
        file: 'test/engine/adapters/remote/remote-http.test.ts',
        test: 'refuses addresses that are not public, however they are written, and connects to none',
      },
      {
        file: 'test/engine/adapters/remote/remote-http.test.ts',
        test: 'a name is refused for any of its addresses, and connected to where it was checked',
      },
      {
        file: 'test/engine/adapters/remote/remote-http.test.ts',
        test: 'a redirect leads nowhere that the URL itself must not lead',
      },
      { file: 'test/engine/adapters/remote/fetchable-addresses.test.ts', test: 'no others may' },
    ],
  },
  {
    id: 'fetch-bounded',
    promise: 'A download from a URL stops at the limits of uploads, measured after decoding.',
    heldBy: [
      {
        file: 'test/actors/upload-by-url.test.ts',
        test: 'a body without end is cut off at the limit, and the server is hung up on',
      },
      { file: 'test/actors/upload-by-url.test.ts', test: 'what decodes to more than is allowed is cut off as well' },
    ],
  },
  {
    id: 'webhook-addresses',
    promise: 'Messages of webhooks go to public addresses only, checked at each connection, and follow no redirect.',
    heldBy: [
      {
        file: 'test/engine/adapters/remote/webhook-http.test.ts',
        test: 'nothing is sent to an address that is not public, however it is written',
      },
      { file: 'test/engine/adapters/remote/webhook-http.test.ts', test: 'a redirect is not followed' },
      {
        file: 'test/e2e/webhooks.test.ts',
        test: 'each receiver gets each event of its owner, signed, however it behaves',
      },
    ],
  },
  {
    id: 'fetch-url-private',
    promise: 'No message contains the query of a fetched URL, which may be a signature.',
    heldBy: [
      {
        file: 'test/engine/adapters/remote/remote-http.test.ts',
        test: 'a signed link that has expired is told by its query; no message holds the query',
      },
    ],
  },
  {
    id: 'json-bounded',
    promise: 'JSON has limits of bytes and depth that apply before anything walks it, and __proto__ is no key.',
    heldBy: [
      { file: 'test/http/kernel/bodies/body.test.ts', test: 'nesting is bounded before anything walks it' },
      { file: 'test/http/kernel/bodies/body.test.ts', test: '__proto__ is no key, however it is spelled' },
      { file: 'test/http/kernel/bodies/body.test.ts', test: 'bytes are read up to the bound, and not one more' },
    ],
  },
  {
    id: 'metadata-checked',
    promise: 'Refused metadata leave nothing stored, and hostile ones get a short answer.',
    heldBy: [
      { file: 'test/http/installer/create-refusals.test.ts', test: 'refuses …, and leaves nothing' },
      { file: 'test/http/installer/metadata/details-check.test.ts', test: 'hostile bodies are refused without harm' },
      {
        file: 'test/http/installer/metadata/details-check.test.ts',
        test: 'a body of 100,000 faults gets a short answer, soon',
      },
      {
        file: 'test/http/installer/uploads/create.test.ts',
        test: 'metadata that comes first is judged before any file is kept',
      },
    ],
  },
  {
    id: 'multipart-bounded',
    promise: 'A multipart body is read or refused, whatever bytes it contains.',
    heldBy: [
      {
        file: 'test/http/kernel/bodies/multipart.test.ts',
        test: 'a body that is no multipart, is cut off or breaks a limit is refused',
      },
      {
        file: 'test/http/kernel/bodies/multipart.test.ts',
        test: 'random bytes are refused or read, and never anything else',
      },
    ],
  },
  {
    id: 'heads-bounded',
    promise:
      'We refuse request heads that are too large or malformed, and no header value can split the head of an answer.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'heads that are too large or malformed are refused',
      },
      { file: 'test/http/kernel/server/server.test.ts', test: 'a handler cannot split the head of its answer' },
    ],
  },
  {
    id: 'slow-clients',
    promise: 'We disconnect clients that stall in the head, in the body or while reading the answer.',
    heldBy: [
      {
        file: 'test/http/kernel/server/server.test.ts',
        test: 'a client that is slow with its head, or says nothing, is cut off',
      },
      {
        file: 'test/http/kernel/server/server.test.ts',
        test: 'a client that sends a part of its body and then nothing is cut off',
      },
      { file: 'test/http/kernel/server/server.test.ts', test: 'a client that does not read its answer is cut off' },
    ],
  },
  {
    id: 'plugin-replies-checked',
    promise: 'Replies of plugin servers are bounded and checked like other input.',
    heldBy: [
      {
        file: 'test/engine/adapters/plugins/plugin-client.test.ts',
        test: 'a reply that is cut off, empty or endless leaves no file',
      },
      {
        file: 'test/engine/adapters/plugins/plugin-client.test.ts',
        test: 'codes outside the protocol are defects, those of a host that is away are transient',
      },
      {
        file: 'test/actors/tasks/import-dataset.test.ts',
        test: 'a reply that cannot be used is a defect that says why',
      },
    ],
  },
  {
    id: 'config-bombs',
    promise: 'A configuration file with alias bombs, custom tags or duplicate keys is refused.',
    heldBy: [
      { file: 'test/config/yaml-source.test.ts', test: 'an alias bomb is refused before it exists' },
      { file: 'test/config/yaml-source.test.ts', test: 'custom tags are refused, core tags are not' },
      {
        file: 'test/config/yaml-source.test.ts',
        test: 'duplicate keys, odd keys and __proto__ are refused, each at its place',
      },
    ],
  },
  {
    id: 'sql-parameters',
    promise: 'Text from users reaches SQL as parameters only, and schema names from the configuration are checked.',
    heldBy: [
      {
        file: 'test/engine/adapters/postgres/sql-parameters.test.ts',
        test: 'what users send to the installer reaches SQL as parameters',
      },
      {
        file: 'test/engine/adapters/postgres/sql-parameters.test.ts',
        test: 'what lanes write to the cache and to a target reaches SQL as parameters',
      },
      {
        file: 'test/engine/adapters/postgres/sql-parameters.test.ts',
        test: 'what people send to dataset access reaches SQL as parameters',
      },
      {
        file: 'test/engine/adapters/postgres/sql-parameters.test.ts',
        test: 'notes, filters and output of reports reach SQL as parameters',
      },
      {
        file: 'test/engine/adapters/sites/install-target.test.ts',
        test: 'a schema name that is no identifier is refused',
      },
    ],
  },
  {
    id: 'ldap-escaped',
    promise: 'A name that we look up in the directory is a value, whatever characters it contains.',
    heldBy: [{ file: 'test/stack/slapd.test.ts', test: 'a name is a value, whatever it is made of' }],
  },
  {
    id: 'mails-escaped',
    promise: 'In mails, text from people is escaped, is never a template and never adds a header.',
    heldBy: [
      {
        file: 'test/actors/daemons/access-mail-text.test.ts',
        test: 'what people wrote is escaped in HTML and stands as it is in text; nothing of it is a template',
      },
      {
        file: 'test/actors/daemons/access-mail-text.test.ts',
        test: 'a head has one line, whatever a dataset is called',
      },
    ],
  },
  {
    id: 'invitations-limited',
    promise: 'An address gets at most one invitation a day.',
    heldBy: [
      {
        file: 'test/http/access/end-user-create.test.ts',
        test: 'by e-mail: an account is entered, a stranger invited once a day and entered with the first call',
      },
    ],
  },
  {
    id: 'terminal-safe',
    promise: 'Terminals show names from servers and users without control sequences.',
    heldBy: [
      { file: 'test/bin/cli/terminal/text.test.ts', test: 'nothing that a terminal would obey is left of text' },
      {
        file: 'test/engine/runtime/log-destination-lines.test.ts',
        test: 'what strangers wrote cannot command the terminal',
      },
    ],
  },
  {
    id: 'downloads-inert',
    promise: 'A browser saves what users and formatters wrote, or shows it in a sandbox, and runs none of it.',
    heldBy: [
      {
        file: 'test/http/report/files.test.ts',
        test: 'the files of every format type are listed and served in their media types',
      },
      { file: 'test/http/kernel/answers/download.test.ts', test: 'a download says what it is' },
      { file: 'test/http/report/files.test.ts', test: 'a download is an attachment under its name' },
    ],
  },
];
