import { lockNobodyOut } from './junk-credentials.ts';

lockNobodyOut(40);
