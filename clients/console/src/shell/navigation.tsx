// Links to the pages of the person's role, in groups.

import { isOperator } from '../api/session.ts';
import { Icon } from '../components/icons.tsx';
import { pages } from '../pages/pages.ts';
import { texts } from '../texts.ts';
import { to } from './route.ts';

interface Props {
  readonly current: string | undefined;
  readonly role: Parameters<typeof isOperator>[0];
  /** On phones. */
  readonly isOpen: boolean;
}

const GROUPS = Object.keys(texts.shell.groups) as (keyof typeof texts.shell.groups)[];

export function Navigation({ current, role, isOpen }: Props) {
  const shown = pages.filter(({ isHidden, forOperators }) => !isHidden && (!forOperators || isOperator(role)));
  return (
    <nav aria-label={texts.shell.navigation} className={isOpen ? 'open' : ''}>
      {GROUPS.filter((group) => shown.some((page) => page.group === group)).map((group) => (
        <div key={group}>
          <h2>{texts.shell.groups[group]}</h2>
          <ul>
            {shown
              .filter((page) => page.group === group)
              .map(({ path, title, icon }) => (
                <li key={path}>
                  <a href={to(path)} aria-current={path === current ? 'page' : undefined}>
                    <Icon name={icon} />
                    {title}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
