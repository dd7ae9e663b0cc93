import t from 'tap';
import { fullStack } from './full-stack.ts';
import { installation } from './installation.ts';

await fullStack(t, await installation(t));
