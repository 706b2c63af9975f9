import { fleetExample } from './fleet.ts';

fleetExample(8);
