import { drains } from './shutdown.ts';

drains([
  'an application that mounts the endpoint in its own server',
  'an application under register that handles no signal',
]);
