// The plans of the statements that an adapter ran, with their values and for any values.

import type { Postgres, Sql } from '../../engine/adapters/postgres/postgres.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface RecordingSql extends Sql {
  /** What was run through it, in order. */
  readonly statements: Statement[];
}

export function recordingSql(db: Pick<Postgres, 'query'>): RecordingSql {
  const statements: Statement[] = [];
  return {
    statements,
    query: (text, values = [], name) => {
      statements.push({ text, values });
      return db.query(text, values, name);
    },
  };
}

/** What is run on the database from now on, in transactions too. Those of `Postgres` itself (begin, commit) are not. */
export function recordStatements(db: Postgres): readonly Statement[] {
  const statements: Statement[] = [];
  const recorded =
    (run: Sql['query']): Sql['query'] =>
    (text, values = [], name) => {
      statements.push({ text, values });
      return run(text, values, name);
    };
  const { query, transaction } = db;
  db.query = recorded(query.bind(db));
  db.transaction = (work, signal) =>
    transaction.call(db, (sql) => work({ query: recorded(sql.query) }), signal) as never;
  return statements;
}

/** As text: one plan per statement, and per text one that is made without its values, as a connection may keep it. */
export async function plansOf(db: Pick<Postgres, 'query'>, statements: readonly Statement[]): Promise<string[]> {
  const explain = async (options: string, text: string, values: readonly unknown[]): Promise<string> => {
    const rows = await db.query<{ 'QUERY PLAN': string }>(`explain (${options}) ${text}`, values);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const plans: string[] = [];
  for (const { text, values } of statements) plans.push(await explain('costs off', text, values));
  for (const text of new Set(statements.map((statement) => statement.text)))
    plans.push(await explain('generic_plan, costs off', text, []));
  return plans;
}
