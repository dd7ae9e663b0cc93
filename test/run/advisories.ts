// What is known of holes in packages: the registry's answer, and a list of our own for where there is none.

export interface Advisory {
  readonly id: string;
  readonly package: string;
  /** From a version, included, to the one that mends it. */
  readonly ranges: readonly (readonly [from: string, mended: string])[];
}

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
}

/** A sentence for each hole. */
export type Audited = readonly string[];

const PLACE = 'node_modules/';

export function lockedPackages(lock: unknown): readonly LockedPackage[] {
  const { packages } = lock as { readonly packages: Readonly<Record<string, { readonly version?: string }>> };
  return Object.entries(packages).flatMap(([path, { version }]) => {
    const at = path.lastIndexOf(PLACE);
    return at < 0 || version === undefined ? [] : [{ name: path.slice(at + PLACE.length), version }];
  });
}

export function vulnerable(packages: readonly LockedPackage[], advisories: readonly Advisory[]): Audited {
  return packages.flatMap(({ name, version }) =>
    advisories
      .filter((advisory) => advisory.package === name)
      .flatMap(({ id, ranges }) => {
        const range = ranges.find(([from, mended]) => compare(version, from) >= 0 && compare(version, mended) < 0);
        return range ? [`${name} ${version} has ${id}; mended in ${range[1]}`] : [];
      }),
  );
}

/** Undefined when what `npm audit --json` printed is no answer of a registry. */
export function auditedByRegistry(printed: string): Audited | undefined {
  let report: { readonly vulnerabilities?: Readonly<Record<string, { severity?: string; range?: string }>> };
  try {
    report = JSON.parse(printed) as typeof report;
  } catch {
    return undefined;
  }
  if (typeof report?.vulnerabilities !== 'object') return undefined;
  return Object.entries(report.vulnerabilities).map(
    ([name, { severity, range }]) => `${name} ${range} has a hole, severity ${severity}: npm audit says more`,
  );
}

/** A pre-release counts as what it leads to. */
function compare(a: string, b: string): number {
  const [x, y] = [a, b].map((version) => version.split(/[-+]/, 1)[0]?.split('.').map(Number) ?? []);
  for (const i of [0, 1, 2]) if (x?.[i] !== y?.[i]) return (x?.[i] ?? 0) - (y?.[i] ?? 0);
  return 0;
}
