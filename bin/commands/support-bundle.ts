// `longshore support-bundle`: collects diagnostic information for support, without secrets.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { loadConfiguration } from '../../config/load.ts';
import { rejected } from '../../engine/runtime/failure.ts';
import { exists } from '../../engine/runtime/files.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement, wholeNumber } from '../cli/arguments.ts';
import { AdminClient } from '../cli/client/admin-client.ts';
import { adminAccess, adminUrlOf } from '../cli/client/client-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { type PartReport, writeBundle } from '../cli/support-bundle/bundle.ts';
import { bundleParts } from '../cli/support-bundle/bundle-parts.ts';
import { secretsRemover } from '../cli/support-bundle/redaction.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, bytes as sizeText } from '../cli/terminal/text.ts';
import { SUPPORT_BUNDLE } from '../cli/tree/backups.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

const MOST_LINES = 1_000_000;

export const supportBundle: Command = implement(SUPPORT_BUNDLE, async ({ values, args }, io) => {
  const lines = wholeNumber('lines', values.lines, 1, MOST_LINES);
  const time = new Date(systemClock.now()).toISOString().replaceAll(/[:.]/g, '-');
  const target = resolve(args.file ?? `longshore-support-${time}.tar.gz`);
  if (await exists(target)) throw rejected(`${target} exists already; a bundle never replaces a file`);
  const isServed = values.config !== undefined || values.server !== undefined;
  const dir =
    isServed && values.data === undefined ? undefined : dataDir(values.data ?? defaultDataPath(process.getuid?.()));
  const file = values.config ?? dir?.config;
  const loaded = file === undefined ? undefined : await loadConfiguration(file, { env: io.env });
  const core = loaded?.ok ? loaded.configuration.containerCore : undefined;
  const token = values['admin-token'] ?? io.env.LONGSHORE_ADMIN_TOKEN ?? core?.authentication?.adminToken;
  const client = async (): Promise<AdminClient> => {
    // A named configuration says where its server is. For a data directory, the running server has written its address.
    const { server, adminToken } =
      core && values.config !== undefined && values.server === undefined
        ? { server: adminUrlOf(core), adminToken: token }
        : await adminAccess(values, io);
    const found = adminToken ?? token;
    if (found === undefined) throw rejected('the administrator token of the server is unknown; use --admin-token T');
    return new AdminClient({ server, adminToken: found });
  };
  const password = dir && (await readFile(dir.postgresPassword, 'utf8').catch(() => undefined));
  const redact = secretsRemover(
    loaded?.ok ? loaded.document : undefined,
    [token, password?.trim()].filter((secret) => secret !== undefined),
  );
  const sources = {
    file,
    loaded,
    client,
    log: values.log ?? dir?.log,
    postgresLog: dir?.postgresLog,
    env: io.env,
    lines,
  };
  const parts = await writeBundle(target, bundleParts(sources), redact, systemClock, io.signal);
  io.out(
    values.json
      ? jsonDocument({ file: target, parts })
      : `${table(COLUMNS, parts.map(row), io.outTerminal)}${target}\n`,
  );
  return EXIT.ok;
});

const COLUMNS = [{ head: 'part', whole: true }, { head: 'size', whole: true }, { head: 'missing because' }] as const;

const row = ({ name, bytes, cut, failure }: PartReport) =>
  [name, bytes === undefined ? '' : `${sizeText(bytes)}${cut ? ', cut' : ''}`, failure ?? ''] as const;
