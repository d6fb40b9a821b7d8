import { type ReactNode, useEffect } from 'react'
import { Facts } from '../parts/facts.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { type ServedRole, type Staff, servedRoles } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { isInUse } from './in-use.ts'
import { canOpen, type PageName } from './navigation.ts'
import { type Overview, personStatuses } from './replies.ts'
import { type State, StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

const readEveryMs = 30_000

const read = (path: string) => ask<Overview>(path)

type Verdict = Overview['roster']['state']

const marks: Record<Verdict, State> = { well: 'good', wrong: 'bad', 'not-set-up': 'empty' }
/** What is wrong comes first. */
const order: readonly Verdict[] = ['wrong', 'not-set-up', 'well']

interface Card {
  readonly name: string
  readonly state: Verdict
  /** Short enough for the heading; only where something is wrong. */
  readonly headline?: string
  readonly says?: string
  readonly content: ReactNode
  readonly link?: { readonly place: PageName; readonly text: string }
}

export function OverviewPage({ user }: { user: Staff }) {
  const { dates } = useWords()
  const { text } = useConsole()
  const overview = useResource('/staff/overview', read)
  const { data, reload } = overview
  useEffect(() => {
    const timer = setInterval(() => {
      if (isInUse()) reload()
    }, readEveryMs)
    return () => clearInterval(timer)
  }, [reload])
  const cards = useCards(data).toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  const [first] = cards
  return (
    <Page
      title={text.overview.title}
      heading={first ? headingOf(first, text.overview) : text.overview.title}
      lead={data && text.updated(dates.recent(data.at))}
    >
      <Reading of={overview} />
      <ul className="cards overview">
        {cards.map(({ name, state, says, content, link }) => (
          <li key={name} className={`card ${marks[state]}`}>
            <h2>{name}</h2>
            <StateMark state={marks[state]} word={text.overview.states[state]} />
            {says && <p>{says}</p>}
            {content}
            {link && canOpen(user, link.place) && (
              <p>
                <a href={`#/${link.place}`}>{link.text}</a>
              </p>
            )}
          </li>
        ))}
      </ul>
      {data && <Service of={data} />}
    </Page>
  )
}

function useCards(data: Overview | undefined): readonly Card[] {
  const { dates } = useWords()
  const { text: all, number, ago } = useConsole()
  if (!data) return []
  const text = all.overview
  const { signIns, mail, attack, roster, webhooks } = data
  const troubled = webhooks.failing + webhooks.switchedOff
  const { toCheckAgain } = data.people
  return [
    {
      name: text.signIns,
      state: signIns.state,
      ...(signIns.reason && { says: text.noSignIns }),
      content: (
        <>
          <Facts
            of={[
              [text.lastHour, number(signIns.lastHour)],
              [text.lastDay, number(signIns.lastDay)],
            ]}
          />
          {signIns.lastDay > 0 && <Hours of={signIns.hours} />}
        </>
      ),
      link: { place: 'events', text: text.toEvents },
    },
    {
      name: text.mail,
      state: mail.state,
      headline: mail.reason === 'stuck' ? text.mailWrong.stuck : text.mailWrong.failing,
      says: mail.reason === null ? text.mailGood : text.mailReasons[mail.reason],
      content: (
        <Facts
          of={[
            [text.unsent, number(mail.unsent)],
            [text.oldest, mail.oldestAt && ago(mail.oldestAt)],
            [text.failed, number(mail.failedLastDay)],
          ]}
        />
      ),
      link: { place: 'mail', text: text.toMail },
    },
    {
      name: text.attack,
      state: attack.state,
      headline: text.attackWrong,
      says: attack.underAttack ? text.attacked : text.calm,
      content: (
        <Facts
          of={[
            [text.wrongCodes, text.ofThreshold(number(attack.wrongCodesLastHour), number(attack.threshold))],
            [
              text.wrongCodesDay,
              text.ofThreshold(number(attack.wrongCodesLastDay), number(attack.dayThreshold)),
            ],
          ]}
        />
      ),
    },
    {
      name: text.roster,
      state: roster.state,
      headline: roster.reason === null ? '' : text.rosterWrong[roster.reason],
      says: roster.reason === null ? text.rosterFine : text.rosterReasons[roster.reason],
      content: (
        <Facts
          of={[
            [text.generation, roster.generation !== null && number(roster.generation)],
            [
              text.since,
              roster.publishedAt && `${dates.moment(roster.publishedAt)} (${ago(roster.publishedAt)})`,
            ],
            [text.checked, roster.checkedAt && ago(roster.checkedAt)],
            [text.newestFile, roster.fileAt && ago(roster.fileAt)],
            [text.nextFetch, roster.nextFetchAt && dates.moment(roster.nextFetchAt)],
          ]}
        />
      ),
      link: { place: 'roster', text: text.toRoster },
    },
    {
      name: text.people,
      state: data.people.state,
      ...(data.people.reason !== null && {
        says:
          data.people.reason === 'nobody' ? text.nobody : text.checkAgain(toCheckAgain, number(toCheckAgain)),
      }),
      content: <Counts of={data} />,
      link: { place: 'people', text: text.toPeople },
    },
    {
      name: text.webhooks,
      state: webhooks.state,
      headline: text.webhooksFail(troubled, number(troubled)),
      says:
        webhooks.reason === 'none'
          ? text.webhooksNone
          : troubled > 0
            ? text.webhooksFail(troubled, number(troubled))
            : text.webhooksFine,
      content: null,
      link: { place: 'webhooks', text: text.toWebhooks },
    },
  ]
}

type Words = ReturnType<typeof useConsole>['text']['overview']

function headingOf({ state, headline }: Card, text: Words): string {
  return state === 'wrong' && headline ? text.wrong(headline) : text.verdicts[state]
}

const barWidth = 10
const height = 48

/** A small picture; the figures are in its names, and in a list for those who do not see it. */
function Hours({ of }: { of: Overview['signIns']['hours'] }) {
  const { dates } = useWords()
  const { text, number } = useConsole()
  const most = Math.max(1, ...of.map(({ count }) => count))
  return (
    <svg
      className="hours"
      viewBox={`0 0 ${of.length * barWidth} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text.overview.picture(number(most))}
    >
      {of.map(({ from, count }, i) => {
        const tall = count === 0 ? 1 : Math.max(3, Math.round((count / most) * height))
        return (
          <rect
            key={from}
            className={i === of.length - 1 ? 'present' : undefined}
            x={i * barWidth + 1}
            y={height - tall}
            width={barWidth - 2}
            height={tall}
          >
            <title>{text.overview.hour(dates.recent(from), number(count))}</title>
          </rect>
        )
      })}
    </svg>
  )
}

function Counts({ of: { people } }: { of: Overview }) {
  const { dates } = useWords()
  const { text, number } = useConsole()
  if (people.counts.length === 0) return null
  const shown = (role: ServedRole) =>
    personStatuses.flatMap((status) =>
      people.counts
        .filter((each) => each.role === role && each.status === status && each.status !== 'closed')
        .map(
          ({ count }) => `${(count === 1 ? text.statuses : text.statusesMany)[status]} (${number(count)})`,
        ),
    )
  return (
    <>
      <Facts of={servedRoles.map((role) => [text.rolesMany[role], shown(role).join(', ')])} />
      <p className="small soft">{text.overview.counted(dates.recent(people.countedAt))}</p>
    </>
  )
}

function Service({ of: { version, store } }: { of: Overview }) {
  const { text } = useConsole()
  const engines: Record<string, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
  return (
    <section className="service" aria-labelledby="service">
      <h2 id="service">{text.overview.service}</h2>
      <Facts
        of={[
          [text.overview.version, version],
          [text.overview.store, engines[store.engine] ?? store.engine],
          [text.overview.schema, String(store.schema)],
        ]}
      />
    </section>
  )
}
