// Listeners, certificates, origins, and what is installed with the program.

import type { PromiseRow } from '../promises.ts';

export const WIRE: readonly PromiseRow[] = [
  {
    id: 'local-by-default',
    promise: 'Listeners bind to 127.0.0.1 unless bindHost says otherwise.',
    heldBy: [
      { file: 'test/config/defaults.test.ts', test: 'what the shortest file becomes' },
      { file: 'test/config/defaults.test.ts', test: 'the sections beside the installer' },
    ],
  },
  {
    id: 'tls-verified',
    promise: 'With TLS on, we verify the certificates of databases, brokers, store, directory and mail server.',
    heldBy: [
      { file: 'test/stack/postgres-tls.test.ts', test: 'a connection is encrypted, and the certificate verified' },
      {
        file: 'test/stack/kafka-client.test.ts',
        test: 'TLS is verified against the given authority, unless told not to',
      },
      { file: 'test/stack/rabbitmq.test.ts', test: 'over TLS, with a certificate that is verified' },
      { file: 'test/stack/s3-faults.test.ts', test: 'a certificate that nobody vouches for' },
      { file: 'test/stack/slapd.test.ts', test: 'over TLS, with a certificate that is verified' },
      {
        file: 'test/engine/adapters/mail/smtp.test.ts',
        test: 'starttls and tls encrypt, demand a certificate that is trusted, and never go on without',
      },
    ],
  },
  {
    id: 'https',
    promise: 'With http.tls, a front end speaks HTTPS only.',
    heldBy: [
      {
        file: 'test/http/kernel/server/https.test.ts',
        test: 'with a certificate a front end speaks HTTPS, and answers nothing in plain HTTP',
      },
    ],
  },
  {
    id: 'modern-tls',
    promise: 'Listeners speak TLS 1.3, and of 1.2 only what has forward secrecy and authenticated encryption.',
    heldBy: [
      {
        file: 'test/http/kernel/server/https.test.ts',
        test: 'a listener speaks TLS 1.3, and of 1.2 only what has forward secrecy and authenticated encryption',
      },
    ],
  },
  {
    id: 'browser-headers',
    promise: 'Every answer tells browsers not to guess its type, not to frame it, and not to tell where it was.',
    heldBy: [
      {
        file: 'test/http/kernel/answers/security-headers.test.ts',
        test: 'every answer says what browsers may not do with it',
      },
      {
        file: 'test/http/kernel/answers/security-headers.test.ts',
        test: 'a listener of TLS tells browsers to come back over TLS alone',
      },
    ],
  },
  {
    id: 'one-spelling',
    promise: 'A route is found under its own spelling alone, so that a proxy can keep paths from the public.',
    heldBy: [
      { file: 'test/http/kernel/pipeline/route.test.ts', test: 'no other spelling leads to a route' },
      { file: 'test/attack/odd-paths.test.ts', test: '…: a path that is spelled in another way is not found' },
    ],
  },
  {
    id: 'singular-headers',
    promise: 'A header that may come once is refused when it comes twice.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-head.test.ts',
        test: '… twice is refused, whether the values differ or not',
      },
      { file: 'test/attack/two-tokens.test.ts', test: '…: a header that may come once is refused twice' },
    ],
  },
  {
    id: 'admin-listener',
    promise: 'With http.adminListener, the front ends do not serve the paths of operators.',
    heldBy: [
      {
        file: 'test/attack/admin-listener.test.ts',
        test: 'the paths of operators are at the listener for operators alone',
      },
    ],
  },
  {
    id: 'cors',
    promise: 'Pages of other origins cannot read answers unless http.enableCors lists them.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'a browser of a listed origin may call, another may not',
      },
    ],
  },
  {
    id: 'foreign-pages',
    promise: 'Pages of other origins cannot send what needs no token, such as jobs and plugin calls without one.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'a page of another origin cannot send what needs no token',
      },
    ],
  },
  {
    id: 'proxy-trusted',
    promise: 'Proxy headers count only with trustProxy, and an invalid Host never becomes part of an address.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-head.test.ts',
        test: 'the address is the one that was asked for, base path included',
      },
      { file: 'test/http/kernel/pipeline/request-head.test.ts', test: 'a trusted proxy tells what it was asked for' },
      {
        file: 'test/http/kernel/pipeline/request-head.test.ts',
        test: 'a host that is no host does not get into an address',
      },
    ],
  },
  {
    id: 'page-loads-nothing',
    promise: 'The documentation at /api loads nothing from elsewhere.',
    heldBy: [
      {
        file: 'test/http/kernel/openapi/openapi.test.ts',
        test: 'the page and the document are served to anybody, and the page runs no script but its own',
      },
      {
        file: 'test/browser/api-page.test.ts',
        test: 'of the …: shows every operation, asks only this server and complains of nothing',
      },
    ],
  },
  {
    id: 'dependencies-pinned',
    promise: 'Every dependency has an exact version and a checksum, and none that serve needs runs an install script.',
    heldBy: [
      { file: 'test/dependencies.test.ts', test: 'every dependency is named by one version, and locked to that' },
      { file: 'test/dependencies.test.ts', test: 'every package has a checksum' },
      { file: 'test/dependencies.test.ts', test: 'no package that serve needs runs a script when it is installed' },
    ],
  },
  {
    id: 'bill-of-materials',
    promise: 'Each build has a bill of materials, and two builds of the same sources are identical.',
    heldBy: [
      {
        file: 'test/binary/build.test.ts',
        test: 'the bill of materials names what is inside, the runtime too, and no tools',
      },
      {
        file: 'test/binary/build.test.ts',
        test: 'two builds of the same sources are the same, byte for byte, wherever they lie',
      },
    ],
  },
];
