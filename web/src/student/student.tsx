import { MyData } from '../parts/my-data.tsx'
import { NotFound } from '../parts/not-found.tsx'
import { Sessions } from '../parts/sessions.tsx'
import type { Student } from '../people.ts'
import { Calendar } from './calendar.tsx'
import { StudentCard } from './card.tsx'
import { ClassDetail } from './class-detail.tsx'
import { Home } from './home.tsx'

export function StudentScreens({ user, route }: { user: Student; route: readonly string[] }) {
  const [place = '', id, ...rest] = route
  if (rest.length > 0) return <NotFound />
  if (place === 'classes' && id !== undefined) return <ClassDetail key={id} classId={id} />
  if (id !== undefined) return <NotFound />
  if (place === '') return <Home user={user} />
  if (place === 'card') return <StudentCard user={user} />
  if (place === 'calendar') return <Calendar />
  if (place === 'sessions') return <Sessions />
  if (place === 'data') return <MyData owner="student" />
  return <NotFound />
}
