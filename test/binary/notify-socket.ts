// The socket on which systemd listens for what services say. Node.js has no such sockets; Perl, which Debian always has, does.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const LISTENER = `
  use Socket; $| = 1;
  socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die $!;
  bind($s, sockaddr_un($ARGV[0])) or die $!;
  chmod 0777, $ARGV[0];
  print "listening\\n";
  while (defined recv($s, my $message, 4096, 0)) { print "$message\\n"; }
`;

export interface NotifySocket {
  readonly path: string;
  /** Resolves when a service says that it is ready. */
  readonly ready: Promise<void>;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export async function notifySocket(t: Teardown, dir: string): Promise<NotifySocket> {
  const path = join(dir, 'notify');
  const listener = spawn('perl', ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(listener, 'close');
  t.teardown(async () => {
    listener.kill();
    await ended;
  });
  const listening = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  createInterface({ input: listener.stdout }).on('line', (line) => {
    if (line === 'listening') listening.resolve();
    if (line === 'READY=1') ready.resolve();
  });
  void ended.then(() => listening.reject(new Error('the listener ended')));
  await listening.promise;
  return { path, ready: ready.promise };
}
