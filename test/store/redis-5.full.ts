import { createClient } from 'redis-5';
import { redisVersionContract } from './redis-version.ts';

redisVersionContract('redis-5', { createClient });
