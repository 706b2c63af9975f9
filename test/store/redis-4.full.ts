import { createClient } from 'redis-4';
import { redisVersionContract } from './redis-version.ts';

redisVersionContract('redis-4', { createClient });
