// Who is signed in, signing out, and the appearance.

import { session, signOut } from '../api/session.ts';
import { useStore } from '../api/store.ts';
import { Button } from '../components/button.tsx';
import { personName } from '../components/format.ts';
import { Icon } from '../components/icons.tsx';
import { tellProblem } from '../components/toasts.tsx';
import { texts } from '../texts.ts';
import { chooseTheme, type Theme, theme } from './theme.ts';

const THEMES = Object.entries(texts.shell.themes) as [Theme, string][];

export function Account() {
  const self = useStore(session)?.self;
  const chosen = useStore(theme);
  return (
    <div className="account">
      <label>
        <span className="hidden-text">{texts.shell.theme}</span>
        <select value={chosen} onChange={({ target }) => chooseTheme(target.value as Theme)}>
          {THEMES.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {self && (
        <>
          <span className="self">
            <Icon name="user" />
            <span>
              {personName(self) || texts.shell.userOf(self.userId)}
              <small>{texts.shell.roleAndId(self.role, self.userId)}</small>
            </span>
          </span>
          <Button onPress={() => void signOut().catch(tellProblem)}>{texts.shell.signOut}</Button>
        </>
      )}
    </div>
  );
}
