import { drains, WAYS } from './shutdown.ts';

drains(Object.keys(WAYS) as (keyof typeof WAYS)[]);
