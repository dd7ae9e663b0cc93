// The tables of promises in test/README.md: as the rows make them, and as the page has them.

import { SERVICES, type Service, TABLES } from '../contract/tables.ts';
import { KINDS, PROMISES, type PromiseKind, type PromiseRow } from '../promises.ts';

const HEADING = '## Promises';
const NAMES: Readonly<Record<PromiseKind, string>> = {
  reliability: 'Reliability',
  security: 'Security',
  operation: 'Operation',
  compatibility: 'Compatibility',
};

/** Lines of all tables, in the order of the page, each under its heading. */
export const tableLines = (): readonly string[] => [
  '### Contract',
  '| service | rows | where | tests |',
  '| --- | --- | --- | --- |',
  ...SERVICES.map(contractLine),
  ...KINDS.flatMap((kind) => [
    `### ${NAMES[kind]}`,
    '| promise | held by |',
    '| --- | --- |',
    ...Object.entries(PROMISES[kind]).flatMap(([group, rows]) => [`| **${group}** | |`, ...rows.map(promiseLine)]),
  ]),
];

/** Headings and lines of tables below the heading of the section. Throws when it is not there. */
export function linesOfPage(markdown: string): readonly string[] {
  const section = markdown.split(/^(?=## )/m).find((part) => part.startsWith(`${HEADING}\n`));
  if (section === undefined) throw new Error(`no heading '${HEADING}'`);
  return section.split('\n').filter((line) => /^(### |\|)/.test(line));
}

/** Which tests prove the rows of a service. Those of the installer do not have its name. */
const contractTests = (service: Service): string =>
  service === 'installer' ? 'all other `e2e/contract-*.test.ts`' : `\`e2e/contract-${service}-*.test.ts\``;

function contractLine(service: Service): string {
  const count = Object.keys(TABLES[service]).length;
  return `| ${service} | ${count} | \`contract/${service}.ts\` | ${contractTests(service)} |`;
}

function promiseLine({ promise, heldBy }: PromiseRow): string {
  const tests = heldBy.map(({ file, test }) => `\`${file.replace(/^test\//, '')}\` ${cell(test)}`);
  return `| ${cell(promise)} | ${tests.join('<br>')} |`;
}

/** What would end the cell, or be read as markup. */
const cell = (text: string): string => text.replaceAll(/[\\|<>*_`]/g, '\\$&');
