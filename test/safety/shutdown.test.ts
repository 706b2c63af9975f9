import { drains } from './shutdown.ts';

drains(['an application under register that handles no signal']);
