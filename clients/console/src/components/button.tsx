// A button, with an icon if it has one.

import { type ButtonProps, Button as Pressable } from 'react-aria-components';
import { Icon, type IconName } from './icons.tsx';

interface Props extends ButtonProps {
  readonly kind?: 'primary' | 'plain' | 'danger';
  readonly icon?: IconName;
  /** The text is for screen readers only. */
  readonly iconOnly?: boolean;
  readonly children: string;
}

export function Button({ kind = 'plain', icon, iconOnly = false, children, ...props }: Props) {
  return (
    <Pressable {...props} className={`button ${kind}${iconOnly ? ' icon-only' : ''}`}>
      {icon && <Icon name={icon} />}
      <span className={iconOnly ? 'hidden-text' : ''}>{children}</span>
    </Pressable>
  );
}
