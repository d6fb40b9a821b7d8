/**
 * Holds about classes that have not ended: those that leave, that lose their students, or that new dates would end. In
 * the holidays these are next term's.
 */
import { counted } from '../../../platform/lib/counted.ts'
import { type Stage, stageSql } from '../../student/classes.ts'
import type { Case } from './case.ts'
import type { Hold, Limits } from './hold.ts'

const openStages = ['current', 'upcoming'] as const

/** Of what has not ended. */
class Losses {
  readonly before = { current: 0, upcoming: 0 }
  leaving = 0
  /** Those that stay, but lose their stage by new dates. */
  readonly ending = { current: 0, upcoming: 0 }

  get all(): number {
    return this.before.current + this.before.upcoming
  }
}

export async function* classHolds(roster: Case, limits: Limits): AsyncGenerator<Hold> {
  const { isMore, beyond } = limits
  findSpans(roster)
  const classes = lostClasses(roster)
  const { enrolments, emptied } = await lostEnrolments(roster)
  const { before } = roster.students.counts
  if (isMore('terms', emptied, before)) {
    const reason = `${emptied} of ${counted(before, 'student', 'students')} would no longer have a current class ${beyond('terms')}`
    yield { code: 'terms', reason, numbers: { emptied, before } }
  } else yield* endingHolds(classes, enrolments, limits)
  if (isMore('classes', classes.leaving, classes.all)) {
    const of = counted(classes.all, 'class that has not ended', 'classes that have not ended')
    const reason = `${classes.leaving} of ${of} would leave ${beyond('classes')}`
    yield { code: 'classes', reason, numbers: { leaving: classes.leaving, before: classes.all } }
  }
  if (isMore('enrolments', enrolments.leaving, enrolments.all)) {
    const of = counted(enrolments.all, 'enrolment', 'enrolments')
    const reason = `${enrolments.leaving} of ${of} in classes that have not ended would leave ${beyond('enrolments')}`
    yield { code: 'enrolments', reason, numbers: { leaving: enrolments.leaving, before: enrolments.all } }
  }
}

/** One at most: they have the same cause. */
function* endingHolds(classes: Losses, enrolments: Losses, { isMore, beyond }: Limits): Generator<Hold> {
  const kinds = [
    { of: classes, one: 'class', many: 'classes', current: 'classesEnding', upcoming: 'classesOver' },
    {
      ...{ of: enrolments, one: 'enrolment', many: 'enrolments' },
      ...{ current: 'enrolmentsEnding', upcoming: 'enrolmentsOver' },
    },
  ]
  for (const kind of kinds)
    for (const stage of openStages) {
      const [ending, before] = [kind.of.ending[stage], kind.of.before[stage]]
      if (!isMore('terms', ending, before)) continue
      const which = counted(before, `${stage} ${kind.one}`, `${stage} ${kind.many}`)
      const end = stage === 'current' ? 'not be current' : 'be over'
      const reason = `${ending} of ${which} would ${end} by the new dates ${beyond('terms')}`
      yield { code: 'terms', reason, numbers: { [kind[stage]]: ending, before } }
      return
    }
}

type Side = 'now' | 'then'

/** From the first day of a class's terms to the last, on the side that `view` shows. */
const spansIn = (view: 'was' | 'next') => `
  select c.id, min(t.data ->> 'startDate') as start, max(t.data ->> 'endDate') as end
  from ${view}_class c left join json_each(c.data, '$.termIds') j left join ${view}_term t on t.id = j.value
  group by c.id`

/** What the day makes of a class or, with dates of its own, of an enrolment. An absent class is past. */
const stageIn = (side: Side, own?: string) => {
  const date = (name: string, of: string) => (own ? `coalesce(${own}.${of}_date, s.${name})` : `s.${name}`)
  return `case when s.is_${side} is null then 'past' else ${stageSql(date(`${side}_start`, 'start'), date(`${side}_end`, 'end'), '$today')} end`
}

/** A class may begin earlier than planned; whatever is current should stay so. */
const isLost = (before: string, then: string) =>
  `case ${before} when 'current' then ${then} <> 'current' when 'upcoming' then ${then} = 'past' else false end`

function findSpans({ bench }: Case): void {
  bench.file.exec(`delete from class_span;
    insert into class_span (id, now_start, now_end, is_now) select id, start, end, 1 from (${spansIn('was')});
    insert into class_span (id, then_start, then_end, is_then) select id, start, end, 1 from (${spansIn('next')}) where true
      on conflict (id) do update set then_start = excluded.then_start, then_end = excluded.then_end, is_then = 1`)
}

function lostClasses({ bench, today }: Case): Losses {
  const losses = new Losses()
  const stages = bench.file.all<{
    stage: 'current' | 'upcoming'
    n: number
    leaving: number
    ending: number
  }>(
    `select stage, count(*) as n, sum(is_then is null) as leaving,
       sum(is_then is not null and ${isLost('stage', 'later')}) as ending
     from (select ${stageIn('now')} as stage, ${stageIn('then')} as later, s.is_then from class_span s)
     where stage <> 'past' group by stage`,
    { $today: today },
  )
  for (const { stage, n, leaving, ending } of stages) {
    losses.before[stage] = n
    losses.leaving += leaving
    losses.ending[stage] = ending
  }
  return losses
}

/**
 * Enrolments that may be lost: those that leave or change, and those in classes that leave or get other dates. Some
 * systems give enrolments new ids in every export, so they are compared by student and class; an account that is matched
 * to a new sourcedId is one account, by the sourcedId that it has now.
 */
const touched = `
  select user_id, class_id, role, start_date, end_date from leaving_enrolment
  union all
  select was_user_id, was_class_id, was_role, was_start_date, was_end_date
    from change_enrolment where operation = 'changed'
  union all
  select user_id, class_id, role, start_date, end_date from next_enrolment
    where class_id in (select id from class_span where (now_start, now_end, is_now) is not (then_start, then_end, is_then))
      and place not in (select row from change_enrolment)`

/** The enrolments of an account in the next roster, with what the day makes of them. */
const thenOf = (account: string) => `
  select ${stageIn('then', 't')} as later, t.class_id from next_enrolment t left join class_span s on s.id = t.class_id
  where t.role = 'student' and t.user_id in (
    select ${account} where ${account} not in (select id from student where matched_from is not null)
    union all select id from student where matched_from = ${account})`

const stays = (account: string) => `(${account} in (select id from student)
  or ${account} in (select matched_from from student where matched_from is not null))`

/** `emptied`: how many students have a current class and would have none. */
async function lostEnrolments(roster: Case): Promise<{ enrolments: Losses; emptied: number }> {
  const { file } = roster.bench
  const today = { $today: roster.today }
  file.exec('delete from lost_enrolment')
  file.run(
    `insert or ignore into lost_enrolment
     select account, class_id, stage from (
       select coalesce(m.matched_from, e.user_id) as account, e.class_id, ${stageIn('now', 'e')} as stage
       from (${touched}) e left join class_span s on s.id = e.class_id left join student m on m.id = e.user_id
       where e.role = 'student'
     ) where stage <> 'past'`,
    today,
  )
  const losses = new Losses()
  const isSaved = (which: string) =>
    `exists (select 1 from (${thenOf('l.account')}) t where t.class_id = l.class_id and ${which})`
  const lost = file.all<{ stage: 'current' | 'upcoming'; is_left: number; n: number }>(
    `select stage, is_left, count(*) as n from (
       select l.account, l.class_id, l.stage, not ${isSaved('true')} as is_left from lost_enrolment l
       where ${stays('l.account')} and not ${isSaved(`not (${isLost('l.stage', 't.later')})`)}
     ) group by stage, is_left`,
    today,
  )
  for (const { stage, is_left, n } of lost) if (is_left === 0) losses.ending[stage] = n
  if (lost.length === 0) return { enrolments: losses, emptied: emptiedIn(roster) }
  losses.leaving = file.number(
    `select count(*) from (select distinct l.account, l.class_id from lost_enrolment l
     where ${stays('l.account')} and not ${isSaved('true')})`,
    today,
  )
  await countStages(roster, losses.before)
  return { enrolments: losses, emptied: emptiedIn(roster) }
}

async function countStages({ bench, standing, today }: Case, before: Losses['before']): Promise<void> {
  const count = (sql: string) => {
    for (const { stage, n } of bench.file.all<{ stage: Stage; n: number }>(sql, { $today: today }))
      if (stage !== 'past') before[stage] += n
  }
  if (standing.sizes === null) {
    count(`select ${stageIn('now', 'e')} as stage, count(*) as n from was_enrolment e
      left join class_span s on s.id = e.class_id where e.role = 'student' group by 1`)
    return
  }
  // Not all enrolments are on the workbench.
  const stage = `select ${stageIn('now')} as stage from class_span s where s.id = $id`
  for (const { class_id, n } of await standing.classSizes()) {
    const found = bench.file.one<{ stage: Stage }>(stage, { $today: today, $id: class_id })?.stage ?? 'past'
    if (found !== 'past') before[found] += n
  }
}

function emptiedIn({ bench, today }: Case): number {
  return bench.file.number(
    `select count(*) from student n where n.state in ('same', 'changed')
       and coalesce(n.matched_from, n.id) in (select account from lost_enrolment where stage = 'current')
       and not exists (select 1 from (${thenOf('coalesce(n.matched_from, n.id)')}) t where t.later = 'current')`,
    { $today: today },
  )
}
