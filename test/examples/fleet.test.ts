import { fleetExample } from './fleet.ts';

fleetExample(3);
