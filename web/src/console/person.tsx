import { useState } from 'react'
import { now } from '../clock.ts'
import { Address } from '../parts/address.tsx'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { Reading } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { ActionDialog } from './action-dialog.tsx'
import { DeliveryList } from './deliveries.tsx'
import { EventList, useActors } from './event-list.tsx'
import { canOpen } from './navigation.ts'
import { type ActionName, actionsFor, PersonAction } from './person-actions.tsx'
import { fullName, listLeft, Name, StatusMark } from './person-parts.tsx'
import type { ClassSummary, Device, PersonDetail } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const read = (path: string) => ask<PersonDetail>(path)

export function PersonPage({ userId, user }: { userId: string; user: Staff }) {
  const { text: words, dates } = useWords()
  const { text: all } = useConsole()
  const text = all.person
  const person = useResource(`/staff/people/${encodeURIComponent(userId)}`, read)
  const { data, problem } = person
  const [action, setAction] = useState<ActionName | null>(null)
  const [said, setSaid] = useState('')

  if (!data && problem?.code === 'not-found')
    return (
      <Page title={text.unknown} lead={text.unknownLead} narrow>
        <Back />
      </Page>
    )
  if (!data)
    return (
      <Page title={all.people.title}>
        <Reading of={person} />
      </Page>
    )
  const { profile } = data
  return (
    <Page
      title={fullName(profile) || all.unnamed}
      heading={<Name of={profile} />}
      lead={
        <>
          {all.roles[profile.role]} <StatusMark status={profile.status} />
        </>
      }
    >
      <Back />
      <Reading of={person} />
      <p role="status" className={said ? 'notice good' : 'said'}>
        {said}
      </p>
      <Suspension of={data} user={user} />
      {profile.verificationLost && (
        <Notice tone="bad">
          <p>
            {text.verificationLost[profile.verificationLost.because](
              dates.dayOf(profile.verificationLost.at),
            )}
          </p>
        </Notice>
      )}
      <div className="columns">
        <section className="card" aria-labelledby="about">
          <h2 id="about">{text.about}</h2>
          <About of={profile} />
        </section>
        <section className="card" aria-labelledby="actions">
          <h2 id="actions">{text.actions}</h2>
          <div className="person-actions">
            {actionsFor(profile).map((name) => (
              <Button
                key={name}
                look={name === 'close' || name === 'suspend' ? 'danger' : 'plain'}
                onPress={() => setAction(name)}
              >
                {all.actions[name].open}
              </Button>
            ))}
            {actionsFor(profile).length === 0 && <p className="soft">{all.none}</p>}
          </div>
        </section>
      </div>
      {data.deliveries && (
        <section aria-labelledby="mail">
          <h2 id="mail">{text.mail}</h2>
          {data.deliveries.length > 0 && <p className="soft">{text.mailLead}</p>}
          <DeliveryList of={data.deliveries} none={text.noMail} />
        </section>
      )}
      <Classes of={data} />
      <section aria-labelledby="devices">
        <h2 id="devices">{text.devices}</h2>
        <Devices of={data.sessions} />
      </section>
      <PasskeyList of={data.passkeys} />
      <SchoolLinkList
        of={data.schoolLinks}
        userId={userId}
        user={user}
        onDone={(name) => {
          setSaid(words.school.removed(name))
          person.reload()
        }}
      />
      <section aria-labelledby="events">
        <h2 id="events">{text.events}</h2>
        {data.events.length === 0 && <p className="soft">{text.noEvents}</p>}
        <EventList of={data.events.toReversed()} user={user} names={data.names} />
        {canOpen(user, 'events') && (
          <p>
            <a href={`#/events?person=${encodeURIComponent(userId)}`}>{all.events.ofPerson}</a>
          </p>
        )}
      </section>
      {action && (
        <PersonAction
          name={action}
          person={profile}
          user={user}
          onCancel={() => setAction(null)}
          onDone={() => {
            setAction(null)
            setSaid(all.actions[action].done)
            person.reload()
          }}
        />
      )}
    </Page>
  )
}

/** Why, when and by whom the account was suspended. */
function Suspension({ of: { profile, events, names }, user }: { of: PersonDetail; user: Staff }) {
  const { dates } = useWords()
  const { text } = useConsole()
  const nameOf = useActors(user, names)
  const suspended = events.findLast(({ type }) => type === `${profile.role}.suspended`)
  if (profile.status !== 'suspended' || !suspended) return null
  return (
    <Notice tone="bad">
      <p>
        <bdi>{text.person.suspended(dates.moment(suspended.at), nameOf(suspended.actor))}</bdi>
      </p>
      {suspended.note && (
        <p>
          {text.person.suspendedWhy} <bdi>{suspended.note}</bdi>
        </p>
      )}
    </Notice>
  )
}

/** Nothing for somebody who has none. */
function PasskeyList({ of: passkeys }: { of: PersonDetail['passkeys'] }) {
  const { text, dates } = useWords()
  if (passkeys.length === 0) return null
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">{text.passkeys.title}</h2>
      <ul>
        {passkeys.map(({ passkeyId, name, lastUsedAt }) => (
          <li key={passkeyId}>
            <bdi>{name}</bdi>{' '}
            <span className="soft">
              {lastUsedAt === null
                ? text.passkeys.neverUsed
                : text.passkeys.lastUsed(dates.recent(lastUsedAt))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Nothing for somebody who has none. */
function SchoolLinkList({
  of: links,
  userId,
  user,
  onDone,
}: {
  of: PersonDetail['schoolLinks']
  userId: string
  user: Staff
  onDone(name: string): void
}) {
  const { text, dates } = useWords()
  const [removed, setRemoved] = useState<PersonDetail['schoolLinks'][number] | null>(null)
  if (links.length === 0) return null
  return (
    <section aria-labelledby="school-links">
      <h2 id="school-links">{text.school.title}</h2>
      <ul>
        {links.map((link) => (
          <li key={link.providerId}>
            <bdi>{link.name}</bdi>{' '}
            <span className="soft">
              {link.lastUsedAt === null
                ? text.passkeys.neverUsed
                : text.passkeys.lastUsed(dates.recent(link.lastUsedAt))}
            </span>{' '}
            <Button label={`${text.school.remove}: ${link.name}`} onPress={() => setRemoved(link)}>
              {text.school.remove}
            </Button>
          </li>
        ))}
      </ul>
      {removed && (
        <ActionDialog
          user={user}
          title={<bdi>{text.school.removeTitle(removed.name)}</bdi>}
          submit={text.school.remove}
          danger
          work={() =>
            ask(`/staff/people/${encodeURIComponent(userId)}/disconnect-school-account`, {
              method: 'POST',
              body: { providerId: removed.providerId },
            })
          }
          onDone={() => {
            setRemoved(null)
            onDone(removed.name)
          }}
          onCancel={() => setRemoved(null)}
        />
      )}
    </section>
  )
}

function Back() {
  const { text } = useConsole()
  return (
    <p>
      <a href={listLeft.hash}>{text.person.toSearch}</a>
    </p>
  )
}

function About({ of }: { of: PersonDetail['profile'] }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.person
  const isVeterinarian = of.role === 'veterinarian'
  return (
    <Facts
      of={[
        [text.email, of.email && <Address of={of.email} />],
        [text.number, of.studentNumber && <bdi>{of.studentNumber}</bdi>],
        [text.year, of.year !== null && String(of.year)],
        [
          text.verified,
          isVeterinarian &&
            (of.verified ? text.isVerified : of.verificationLost ? text.checkAgain : text.notVerified),
        ],
        [text.confirmed, isVeterinarian && (of.confirmed ? text.isConfirmed : text.notConfirmed)],
        [text.since, dates.dayOf(of.createdAt)],
        [text.id, <code key="id">{of.userId}</code>],
      ]}
    />
  )
}

/** Nothing for a veterinarian who does not teach. */
function Classes({ of: { profile, classes } }: { of: PersonDetail }) {
  const { text: all, number } = useConsole()
  const text = all.person
  const teaches = profile.role === 'veterinarian'
  if (teaches && classes.length === 0) return null
  const others = classes.filter(({ current }) => !current)
  return (
    <section aria-labelledby="classes">
      <h2 id="classes">{teaches ? text.teaches : text.classes}</h2>
      {classes.length === 0 && <p className="soft">{text.noClasses}</p>}
      <ClassList of={classes.filter(({ current }) => current)} />
      {others.length > 0 && (
        <details>
          <summary>{text.otherClasses(others.length, number(others.length))}</summary>
          <ClassList of={others} />
        </details>
      )}
    </section>
  )
}

function ClassList({ of }: { of: readonly ClassSummary[] }) {
  const { text: shared, dates } = useWords()
  const { text: all, number } = useConsole()
  if (of.length === 0) return null
  const spanOf = ({ startDate, endDate }: ClassSummary) => {
    if (startDate && endDate) return dates.span(startDate, endDate)
    if (endDate) return shared.student.until(dates.day(endDate))
    return startDate ? shared.student.from(dates.day(startDate)) : shared.student.always
  }
  return (
    <ul className="rows plain-list">
      {of.map((one) => (
        <li key={one.classId}>
          <bdi>{one.title}</bdi>
          <span className="soft">
            {shared.student.kinds[one.kind]} · {spanOf(one)}
            {one.location && (
              <>
                {' · '}
                <bdi>{one.location}</bdi>
              </>
            )}
            {one.students !== null && ` · ${all.person.students(one.students, number(one.students))}`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function Devices({ of }: { of: readonly Device[] }) {
  const { text: all, number } = useConsole()
  const text = all.person
  const newestFirst = of.toSorted((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt))
  const isLive = ({ endedAt, expiresAt }: Device) => endedAt === null && Date.parse(expiresAt) > now()
  const live = newestFirst.filter(isLive)
  const over = newestFirst.filter((device) => !isLive(device))
  return (
    <>
      {live.length === 0 && <p className="soft">{text.noDevices}</p>}
      <DeviceList of={live} />
      {over.length > 0 && (
        <details>
          <summary>{text.earlierDevices(over.length, number(over.length))}</summary>
          <DeviceList of={over} />
        </details>
      )}
    </>
  )
}

function DeviceList({ of }: { of: readonly Device[] }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.person
  if (of.length === 0) return null
  return (
    <ul className="rows plain-list">
      {of.map(({ sessionId, device, startedAt, lastSeenAt, endedAt, endReason }) => (
        <li key={sessionId}>
          <bdi>{device}</bdi>
          <span className="soft">
            {text.signedIn(dates.moment(startedAt))} · {text.lastSeen(dates.moment(lastSeenAt))}
            {endedAt && ` · ${text.ended(dates.moment(endedAt))}`}
            {endReason && ` (${text.endReasons[endReason] ?? endReason})`}
          </span>
        </li>
      ))}
    </ul>
  )
}
