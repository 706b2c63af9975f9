// Measures, so nothing runs beside it: how fast a change reaches eight processes.

import { fleetExample, fleetWithoutPort } from './fleet.ts';

fleetExample(8, 'redis');
fleetExample(8, 'postgres');
fleetWithoutPort();
