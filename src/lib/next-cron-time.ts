import { CronExpressionParser } from 'cron-parser';

/** Returns the first time after `after` that a cron expression matches, in UTC. Throws for an invalid expression. */
export function nextCronTime(expression: string, after: Date): Date {
  return CronExpressionParser.parse(expression, { currentDate: after, tz: 'UTC' }).next().toDate();
}
