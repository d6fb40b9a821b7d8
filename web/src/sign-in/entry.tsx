import type { ReactNode } from 'react'
import { useWords } from '../text/text.ts'

/** The sign-in screens. Wide windows show the constellation beside the form. */
export function Entry({ first, children }: { first: boolean; children: ReactNode }) {
  const { text } = useWords()
  return (
    <div className={first ? 'entry first' : 'entry'}>
      <aside className="sky">
        <Constellation />
        <p>{text.signIn.motto}</p>
      </aside>
      {children}
    </div>
  )
}

const stars: Record<string, readonly [x: number, y: number, size?: number]> = {
  beacon: [64, 52, 2],
  hand: [92, 92],
  elbow: [132, 134],
  head: [186, 58, 6],
  shoulder: [184, 122, 5],
  otherElbow: [232, 152],
  otherHand: [268, 124],
  waist: [192, 196, 5],
  back: [262, 206],
  rump: [330, 214, 6],
  tail: [374, 262],
  tailEnd: [380, 314],
  hock: [322, 296],
  hindHoof: [344, 366, 5],
  otherHock: [288, 290],
  otherHindHoof: [280, 362],
  belly: [250, 262],
  chest: [180, 252, 5],
  knee: [174, 312],
  foreHoof: [186, 368, 5],
  raisedKnee: [126, 272],
  raisedHoof: [132, 322],
}
const lines = [
  'beacon hand elbow shoulder head',
  'shoulder otherElbow otherHand',
  'shoulder waist back rump tail tailEnd',
  'rump hock hindHoof',
  'rump otherHock otherHindHoof',
  'otherHock belly chest waist',
  'chest knee foreHoof',
  'chest raisedKnee raisedHoof',
]
const faint: readonly (readonly [x: number, y: number])[] = [
  ...([
    [30, 150],
    [112, 30],
    [250, 40],
    [330, 90],
    [384, 150],
    [60, 230],
    [40, 330],
    [230, 330],
    [310, 30],
    [20, 40],
  ] as const),
]

function Constellation() {
  return (
    <svg viewBox="0 0 400 400" aria-hidden="true">
      {lines.map((line) => (
        <polyline
          key={line}
          points={line
            .split(' ')
            .map((name) => stars[name]!.slice(0, 2).join(','))
            .join(' ')}
        />
      ))}
      {Object.entries(stars).map(([name, [x, y, size = 3.5]]) => (
        <circle key={name} className="star" cx={x} cy={y} r={size} />
      ))}
      <path className="beacon" d="M64 32l5 15 15 5-15 5-5 15-5-15-15-5 15-5z" />
      {faint.map(([x, y]) => (
        <circle key={`${x},${y}`} className="faint" cx={x} cy={y} r="1.5" />
      ))}
    </svg>
  )
}
