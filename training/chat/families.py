"""Made-up tools, many and unlike: what each is called, what it does, its arguments and ways to ask for it.

A line is `names | description | arguments | asks | result`, alternatives separated by `/` in names and in an argument's key, by
`;` in descriptions and asks. An argument is `key/key:placeholder`; one that ends in `?` is listed but not asked for. `result` is
the noun of what comes back, or a word in quotes that an action ends with. Groups, separated by blank lines, hold tools that are
easily taken for each other.
"""

LINES = '''
calculate triangle area/triangle area/geometry.area_triangle | Calculate the area of a triangle from its base and height; Area of a triangle | base/b:#n, height/h:#m, unit/units?:unit | Find the area of a triangle with a base of {n} and a height of {m}.; How large is a triangle with base {n} cm and height {m} cm?; triangle area, base {n}, height {m} | area
circle area/area of circle/geometry.circle_area | Calculate the area of a circle; Compute the surface of a circle from its radius | radius/r:#n, units?:unit | What is the area of a circle with a radius of {n}?; area of a circle, radius {n} units; How big is a circle with radius {n} meters? | area
circumference/circle circumference/calculate circumference | Calculate the circumference of a circle | radius:#n | What is the circumference of a circle with radius {n}?; How long is the edge of a circle of radius {n}? | circumference
rectangle perimeter/perimeter of rectangle | Calculate the perimeter of a rectangle | length:#n, width:#m | What is the perimeter of a rectangle {n} long and {m} wide?; perimeter of a rectangle with length {n} and width {m} | perimeter
cylinder volume/volume of cylinder/calculate volume | Compute the volume of a cylinder | radius:#n, height:#m | What is the volume of a cylinder with radius {n} and height {m}?; How much fits into a cylinder of radius {n} and height {m}? | volume
hypotenuse/calculate hypotenuse/pythagoras | Find the length of the longest side of a right triangle | a/side a/side1:#n, b/side b/side2:#m | What is the hypotenuse of a right triangle with sides {n} and {m}?; A right triangle has legs {n} and {m}. How long is the third side? | hypotenuse

math.gcd/greatest common divisor/gcd | Find the greatest common divisor of two numbers; Largest number that divides both | a/num1/number1:#n, b/num2/number2:#m | What is the greatest common divisor of {n} and {m}?; gcd of {n} and {m}; Find the highest common factor of {n} and {m}. | divisor
math.lcm/least common multiple/lcm | Find the least common multiple of two numbers | a/num1:#n, b/num2:#m | What is the least common multiple of {n} and {m}?; lcm of {n}, {m} | multiple
factorial/math.factorial/calculate factorial | Compute the factorial of a number | n/number:#n | What is the factorial of {n}?; Calculate {n} factorial.; {n}! please | factorial
prime factors/factorize/number_theory.prime_factors | Find the prime factors of a number | number/n:#n | What are the prime factors of {n}?; Factorize {n}; Split {n} into primes | factors
is prime/check prime/prime_check | Check if a number is prime | number/num:#n | Is {n} a prime number?; Check whether {n} is prime. | answer
power/exponentiate/math.power | Raise a number to a power | base:#n, exponent/power:#m | What is {n} to the power of {m}?; Raise {n} to {m}.; {n}^{m} | result
square root/math.sqrt/sqrt | Compute the square root of a number | number/x:#n, precision?:#m | What is the square root of {n}?; sqrt({n}); root of {n} please | root
modulo/remainder/math.mod | Get the remainder of a division | dividend/a:#n, divisor/b:#m | What is the remainder of {n} divided by {m}?; {n} mod {m} | remainder
percentage/calculate percentage/percent of | Calculate a percentage of a value | percent/percentage:#n, value/amount:#m | What is {n} percent of {m}?; {n}% of {m}; Tell me {n} % of {m} | result
solve quadratic/quadratic roots/algebra.quadratic_roots | Find the roots of a quadratic equation | a:#n, b:#m, c:#k | Solve the quadratic equation with a={n}, b={m}, c={k}.; Find the roots of {n}x^2 + {m}x + {k} = 0 | roots
linear equation/solve linear | Solve a linear equation a x + b = 0 | a:#n, b:#m | Solve {n}x + {m} = 0; For which x is {n}x + {m} zero? | x
derivative/calculus.derivative/differentiate | Compute the derivative of a function; Differentiate an expression | function/expression:expr, variable?:word | What is the derivative of {expr}?; Differentiate {expr}.; derivative of {expr} | derivative
integrate/calculus.integral/definite integral | Compute the integral of a function between two limits | function/expression:expr, start/lower/a:#n, end/upper/b:#m | Integrate {expr} from {n} to {m}.; What is the integral of {expr} between {n} and {m}? | integral
mean/statistics.mean/average | Calculate the mean of a list of numbers | numbers/values/data:list | What is the average of {list}?; Find the mean of {list}.; mean of the numbers {list} | mean
median/statistics.median | Find the median of a list of numbers | numbers/values:list | What is the median of {list}?; median of {list} | median
standard deviation/stats.std/std_dev | Calculate the standard deviation of numbers | data/numbers:list, sample?:word | Find the standard deviation of {list}; How much do {list} spread? Give me the standard deviation. | deviation
sort numbers/sort list/array.sort | Sort a list of numbers | list/numbers/items:list, order?:word | Sort {list}.; Put {list} in order; Sort the list {list} ascending please | list
maximum/find max/array.max | Find the largest number of a list | numbers:list | What is the largest number in {list}?; biggest of {list} | maximum
random number/random integer/generate random | Generate a random number in a range | min/low/start:#n, max/high/end:#m | Give me a random number between {n} and {m}.; random number from {n} to {m} | number
binomial probability/prob.binomial | Calculate the probability of successes in independent trials | trials/n:#n, successes/k:#k, p/probability:x | What is the probability of {k} successes in {n} trials when each succeeds with {x}?; {n} trials, {k} successes, success probability {x} | probability
linear regression/stats.regression/fit line | Fit a line to points | x/x values:list, y/y values:list2 | Fit a line to x {list} and y {list2}.; Run a linear regression of {list2} on {list}. | slope
correlation/stats.correlation | Compute the correlation of two lists | x/first:list, y/second:list2 | How do {list} and {list2} correlate?; correlation between {list} and {list2} | correlation
matrix determinant/determinant | Compute the determinant of a matrix | matrix:list | What is the determinant of {list}? | determinant
base conversion/convert base/to binary | Convert a number to another base | number:#n, base:#k | Convert {n} to base {k}.; Write {n} in base {k} | result

kinetic energy/physics.kinetic_energy/calculate kinetic energy | Calculate the kinetic energy of a moving object | mass/m:#n, velocity/speed/v:#m | What is the kinetic energy of an object of {n} kg that moves at {m} m/s?; kinetic energy, mass {n}, speed {m} | energy
potential energy/physics.potential_energy | Calculate the potential energy of a raised object | mass:#n, height:#m, gravity?:x | What is the potential energy of {n} kg at a height of {m} m?; Energy of a mass of {n} kg lifted {m} meters | energy
force/calculate force/physics.force | Calculate the force on a mass that accelerates | mass:#n, acceleration:#m | What force moves {n} kg with an acceleration of {m} m/s2?; Find the force for mass {n} and acceleration {m}. | force
density/calculate density/physics.density | Compute the density from mass and volume | mass:#n, volume:#m, unit?:unit | What is the density of something with a mass of {n} kg and a volume of {m} m3?; density: mass {n}, volume {m} | density
free fall/fall time/final velocity | Calculate the speed of a dropped object when it lands | height:#n, initial velocity?:#m, gravity?:x | How fast is a stone that falls {n} meters?; Speed after a drop from {n} m | speed
ohm voltage/electric.voltage/calculate voltage | Calculate the voltage from current and resistance | current:#n, resistance:#m | What voltage drives {n} ampere through {m} ohm?; voltage for current {n} and resistance {m} | voltage
wavelength/calculate wavelength | Calculate the wavelength of a wave from its frequency | frequency:#n, speed?:#m | What is the wavelength at a frequency of {n} Hz?; wavelength of a {n} hertz wave | wavelength
molar mass/chemistry.molar_mass/molecular weight | Get the molar mass of a compound | compound/formula:chem | What is the molar mass of {chem}?; How much does a mole of {chem} weigh?; molecular weight of {chem} | mass
balance reaction/chemistry.balance | Balance a chemical equation | equation/reaction:phrase | Balance the reaction {phrase}. | equation
element info/periodic_table.lookup/get element | Look up a chemical element | element/name/symbol:chem | Tell me about the element {chem}.; What is the atomic number of {chem}? | number
speed of sound/sound speed | Speed of sound in a medium | medium/material:word, temperature?:#n | How fast is sound in {word}? | speed
half life/radioactive decay | Calculate how much of a substance is left after decay | amount/initial amount:#n, half life:#m, time/years:#k | How much is left of {n} g after {k} years with a half-life of {m} years? | amount

compound interest/finance.compound_interest/calculate interest | Calculate the compound interest of an investment | principal/amount:#n, rate/annual rate/interest rate:#k, years/time:#m, frequency?:word | What does {n} dollars grow to at {k} percent interest in {m} years?; Compound interest on {n} at {k}% for {m} years | amount
loan payment/monthly payment/mortgage.calculate | Calculate the monthly payment of a loan | principal/loan amount:#n, rate/interest rate:#k, years/term:#m | What is the monthly payment for a loan of {n} at {k}% over {m} years?; I want to borrow {n} for {m} years at {k} percent. What do I pay a month? | payment
return on investment/roi/finance.roi | Compute the return on an investment | cost/initial value:#n, gain/final value:#m | I invested {n} and have {m} now. What is my return?; ROI of {n} that became {m} | return
stock price/get stock price/finance.quote | Get the current price of a share | symbol/company/ticker:company, exchange?:word | What is the share price of {company}?; How is {company} doing on the stock market?; stock quote for {company} | price
stock history/price history | Get the past prices of a share | company/symbol:company, days/period:#n | Show me the prices of {company} over the last {n} days.; How did {company} shares do in the past {n} days? | prices
convert currency/currency.convert/exchange money | Convert an amount of money from one currency to another | amount:#n, from/from currency/source:money, to/to currency/target:coin | Convert {n} {money} to {coin}.; How much is {n} {money} in {coin}?; I have {n} {money}, what is that in {coin}? | result
exchange rate/currency.rate/get exchange rate | Get the exchange rate of two currencies | base/source currency:money, target/target currency:coin, date?:date | What is the exchange rate from {money} to {coin}?; {money} {coin} rate; rate of the {money} against the {coin} | rate
income tax/tax.calculate/estimate tax | Estimate the income tax to pay | income/salary:#n, state/country:country, year?:year | How much tax do I pay on {n} in {country}?; tax for an income of {n}, {country} | tax
sales tax/add tax/vat | Add the sales tax to a price | price/amount:#n, rate/percent:#k | What is {n} plus {k} % tax?; Add {k}% VAT to {n} | total
tip/calculate tip/restaurant.tip | Calculate the tip for a bill | bill/amount/total:#n, percent/percentage:#k | How much is a {k}% tip on {n} dollars?; Tip {k} percent on a bill of {n} | tip
split bill/divide bill/share costs | Split a bill among people | total/amount:#n, people/persons:#k | Split {n} dollars among {k} people.; Our bill is {n} and we are {k}. How much each? | share
discount/final price/apply discount | Compute a price after a discount | price:#n, discount/percent:#k | What do I pay for something of {n} with {k}% off?; {n} dollars with a discount of {k} percent | price
account balance/get balance/bank.balance | Get the balance of a bank account; See how much money is on an account | account/account number/account id:id | What is the balance of account {id}?; How much money is on {id}?; balance {id} please | balance
transfer money/send money/bank.transfer | Transfer money to another account | amount/sum:#n, to/recipient/beneficiary:full, from account?:id | Transfer {n} dollars to {full}.; Send {full} {n} dollars.; wire {n} to {full} | 'transferred'
list transactions/transactions/bank.history | List the latest transactions of an account | account/account id:id, limit?:#k | Show me the transactions of {id}.; What did I spend from account {id}? | transactions
crypto price/coin price/crypto.get_price | Get the current price of a cryptocurrency | coin/name:coinname, currency?:money | What is the price of {coinname}?; How much is one {coinname}?; {coinname} price now | price

get weather/weather.current/current weather | Get the current weather in a place; Weather right now | city/location/place:city, unit?:unit | What is the weather in {city}?; How's the weather in {city} right now?; Is it raining in {city}?; Weather {city} | weather
weather forecast/get forecast/forecast | Get the weather forecast for the coming days | city/location:city, days/number of days:#k, units?:unit | What will the weather be in {city} over the next {k} days?; {k} day forecast for {city}; Give me the forecast of {k} days for {city}. | forecast
temperature/get temperature/current temperature | Get the temperature of a place | location/city:city, unit/scale:unit | How warm is it in {city} in {unit}?; temperature in {city}, in {unit} please | temperature
air quality/get air quality/pollution.index | Get the air quality index of a city | city/location:city, date?:date | How clean is the air in {city}?; air quality in {city}; Is there much pollution in {city}? | index
sunrise/sunrise time/get sunrise | Get when the sun rises in a place | city/location:city, date/day:day | When does the sun rise in {city} {day}?; sunrise in {city} {day} | time
humidity/get humidity | Get the humidity forecast of a place | location:city, days?:#k | How humid is it in {city}?; humidity for {city} | humidity
wind/wind speed | Get the speed of the wind | place/location:city | How windy is it in {city}?; wind in {city} | speed

local time/get time/time_zone.now | Get the local time of a city | city/place/location:city, format?:word | What time is it in {city}?; time in {city} now; Tell me what the clock says in {city}. | time
convert time/time_zone.convert/timezone converter | Convert a time between two cities | time:time, from/from city:from, to/to city:to | When it is {time} in {from}, what time is it in {to}?; Convert {time} from {from} time to {to} time | time
time difference/time_zone.difference | Get the difference in hours between two places | place1/first city/from:from, place2/second city/to:to | What is the time difference between {from} and {to}?; How many hours apart are {from} and {to}? | difference
days between/date difference/calendar.days | Count the days between two dates | start/from date:date, end/to date:date2 | How many days are there from {date} to {date2}?; days between {date} and {date2} | days
set timer/start timer/timer.start | Start a countdown | minutes/duration:#n | Set a timer for {n} minutes.; {n} minute timer please; Count down {n} minutes | 'running'
set alarm/add alarm/alarm.create | Set an alarm for a time of the day | time/alarm time:time, label/name?:word | Wake me at {time}.; Set an alarm for {time}.; I need an alarm at {time} | 'set'
list alarms/get alarms/show alarms | Get the alarms that are set | user?:name | Which alarms do I have?; Show me my alarms; what alarms are set? | alarms
delete alarm/remove alarm/alarm.cancel | Delete an alarm | time/alarm:time | Delete the alarm at {time}.; I do not need the {time} alarm any more. | 'deleted'
create reminder/remind me/reminder.add | Create a reminder | text/task/content:phrase, time/when:time | Remind me at {time} of {phrase}.; Set a reminder: {phrase}, {time} | 'created'
next holiday/holidays/get holidays | Get the public holidays of a country | country:country, year:year | Which holidays does {country} have in {year}?; public holidays {country} {year} | holidays

create event/add event/calendar.create_event | Add an event to the calendar; Put something into the calendar | title/event name/summary:phrase, date/day:date, time/start time:time, location?:city | Put {phrase} into my calendar on {date} at {time}.; Schedule {phrase} for {date}, {time}.; New event {phrase}: {date}, {time} | 'created'
list events/get events/calendar.list | List the events of a day | date/day:date | What is on my calendar on {date}?; Do I have anything on {date}?; Show my events of {date} | events
cancel event/delete event/calendar.delete | Remove an event from the calendar | title/event:phrase, notify?:word | Cancel {phrase}.; Take {phrase} off my calendar | 'removed'
free time/available slots/calendar.free | Find when a person is free on a day | person/user:name, date/day:day | When is {name} free {day}?; Does {name} have time {day}? | slots
schedule meeting/book meeting/meeting.create | Schedule a meeting with somebody | with/attendee/participant:full, date/day:day, time:time, room?:word | Set up a meeting with {full} {day} at {time}.; I need to meet {full} {day}, {time}. | 'scheduled'
book room/reserve room/meeting_room.book | Reserve a meeting room | room/room name:word, date/day:day, people/capacity:#k | Book the room {word} {day} for {k} people.; We are {k} and need room {word} {day}. | 'booked'

send email/mail.send/email | Send an email | to/recipient/address:mail, subject/topic:topic, body?:phrase | Send an email to {mail} about {topic}.; Mail {mail} with the subject {topic}; Write to {mail} regarding {topic}. | 'sent'
send message/text message/sms.send | Send a text message to a person | to/recipient/contact:name, message/text/content:phrase | Text {name}: {phrase}; Send {name} the message {phrase}; Tell {name} that {phrase}; message {name} "{phrase}" | 'delivered'
call/make call/phone.call | Call a person on the phone | contact/name/person:full | Call {full}.; I want to talk to {full} on the phone; ring {full} please | 'calling'
search mail/find emails/inbox.search | Search the inbox for mails | query/text:topic, from/sender:full | Find mails from {full} about {topic}.; Did {full} write me about {topic}? | mails
read messages/unread messages/inbox.unread | Show the messages that were not read | limit?:#k | Do I have new messages?; Show my unread messages.; anything new in my inbox? | messages
find contact/lookup contact/contacts.get | Look up the address or number of a person | name/person:full | What is the number of {full}?; Find {full} in my contacts.; contact details of {full} | contact
add contact/create contact/contacts.add | Save a new contact | name/full name:full, email/mail:mail, phone?:id | Save {full} with the address {mail}.; New contact: {full}, {mail} | 'saved'
post update/social.post/create post | Publish a post on a social network | text/content/message:phrase, platform/network:network | Post {phrase} on {network}.; Share "{phrase}" on {network} | 'posted'
create channel/chat.new_channel | Create a chat channel | name/channel:word, private?:word | Open a channel called {word}.; We need a new channel {word} | 'created'

find restaurant/search restaurants/restaurant.find_nearby | Find restaurants of a cuisine in a city; Places to eat | city/location:city, cuisine/food:cuisine, price range?:word | Find a {cuisine} restaurant in {city}.; Where can I eat {cuisine} food in {city}?; I am hungry, {cuisine} in {city} please | restaurant
reserve table/book table/restaurant.reserve | Reserve a table at a restaurant | restaurant/name:title, people/party size/guests:#k, time:time, date/day:day | Reserve a table at {title} for {k} at {time} {day}.; Book {title} for {k} people {day} at {time} | 'reserved'
order food/delivery.order/place food order | Order food for delivery | dish/item/food:food, quantity/amount:#k, address?:phrase | Order {k} {food} for me.; I would like {k} {food} delivered. | 'ordered'
find recipe/search recipe/recipes.find | Find a recipe for a dish; Look up how to cook something | dish/query/name:food, max calories?:#n | How do I make {food}?; Find a recipe for {food}.; I want to cook {food} | recipe
recipe by ingredient/cook with/recipes.by_ingredient | Find recipes that use an ingredient | ingredient:food2, diet?:word | What can I cook with {food2}?; recipes with {food2} please | recipes
nutrition/get calories/food.nutrition | Get the calories of a food | food/item:food, amount/grams:#n | How many calories do {n} grams of {food} have?; calories of {n} g {food} | calories
convert units of cooking/cooking_conversion | Convert amounts in the kitchen | quantity/amount:#k, from unit/from:kunit, to unit/to:kunit2, item?:food2 | How many {kunit2} are {k} {kunit}?; Convert {k} {kunit} to {kunit2}. | amount
grocery list/add to shopping list/shopping.add | Put something on the shopping list | item/product:food2, quantity?:#k | Put {food2} on my shopping list.; We need {food2}, add it to the list | 'added'
show shopping list/get grocery list/shopping.list | Show what is on the shopping list | store?:word | What is on my shopping list?; Read me the grocery list.; what do I have to buy? | items
coffee order/order drink/cafe.order | Order a drink in a coffee shop | drink/beverage:drink, size:size, milk?:word | I would like a {size} {drink}.; One {size} {drink} please | 'ordered'

find hotel/search hotels/hotel.search | Find a hotel in a city | city/location/destination:city, nights/number of nights:#k, stars?:#m | Find a hotel in {city} for {k} nights.; I need somewhere to stay in {city}, {k} nights | hotel
book hotel/reserve hotel/hotel_booking.book | Book a room in a hotel | hotel/hotel name:title, check in/from date:date, nights/duration:#k, guests?:#m | Book {title} from {date} for {k} nights.; Reserve a room at {title}, {date}, {k} nights | 'booked'
cancel booking/cancel reservation/booking.cancel | Cancel a booking | booking id/reservation/reference:id | Cancel booking {id}.; I cannot travel, please cancel my reservation {id} | 'cancelled'
search flights/find flight/flights.search | Search flights between two cities; Find flights | from/origin/departure city:from, to/destination:to, date/departure date:date, class?:word | Find a flight from {from} to {to} on {date}.; I want to fly to {to} from {from} on {date}; flights {from} {to} {date} | flight
book flight/flight.book/reserve flight | Book a flight by its number | flight/flight number:id, passengers/seats:#k | Book flight {id} for {k}.; Please get me {k} seats on {id} | 'booked'
flight status/track flight/flight.status | Get whether a flight is on time | flight/flight number:id, date?:date | Is flight {id} on time?; status of {id}; When does flight {id} land? | status
find train/train schedule/trains.search | Look up trains between two cities | from/origin/start:from, to/destination:to, day/date:day | Which trains go from {from} to {to} {day}?; I need a train to {to} from {from} {day} | train
buy ticket/train.buy_ticket | Buy a train ticket | from/origin:from, to/destination:to, class?:word | Buy me a train ticket from {from} to {to}.; One ticket {from} to {to} by train please | 'bought'
rent car/car_rental.book/reserve car | Rent a car in a city | city/pickup city/location:city, date/pickup date:date, days/duration:#k, type?:word | Rent a car in {city} from {date} for {k} days.; I need a car in {city}, {date}, {k} days | 'reserved'
call taxi/get ride/taxi.book | Order a taxi to a place; Book a cab | destination/to:street, people/passengers:#k | Get me a taxi to {street} for {k}.; We are {k} and need a cab to {street} | 'coming'
directions/get directions/map_service.route | Get the way from one place to another | start/from/origin:from, end/to/destination:to, avoid?:word | How do I get from {from} to {to}?; Directions from {from} to {to} please; route {from} to {to} | route
distance/get distance/geo.distance | Compute the distance between two cities | from/city1/start:from, to/city2/end:to, unit?:unit | How far is it from {from} to {to}?; distance {from} {to}; How many miles lie between {from} and {to}? | distance
find parking/parking.nearby | Find a place to park | location/near:street, radius?:#n | Where can I park near {street}?; parking at {street} | place
find attractions/sights/travel.attractions | Find sights in a city | city/location:city, category?:word | What is there to see in {city}?; Sights in {city}; Show me what tourists visit in {city}. | sight
visa requirements/travel.visa | Tell if a visa is needed for a country | nationality/passport:country, destination:country2 | Do I need a visa for {country2} with a passport of {country}? | answer

search products/find product/shop.search | Search products in the shop | query/product/name:thing, max price/budget:#n | Do you have a {thing} under {n} dollars?; I am looking for a {thing}, at most {n} | product
product price/get price/shop.price | Get the price of a product | product/item/product name:thing, store?:company | How much is the {thing}?; What does a {thing} cost?; price of the {thing} | price
check stock/inventory.check/availability | Check whether a product is in stock | product/sku/item:thing, store/location:city | Is the {thing} in stock in {city}?; Do you still have the {thing} in the {city} store? | amount
place order/order product/shop.order | Order a product | product/item:thing, quantity:#k, address?:phrase | I want to buy {k} of the {thing}.; Order {k} x {thing} | 'ordered'
order status/track order/orders.get | Look up where an order is | order id/order number/order:id | Where is my order {id}?; Has {id} been shipped?; status of order {id} | status
cancel order/orders.cancel/stop order | Cancel an order | order id/order:id, reason?:phrase | Cancel order {id}.; I do not want {id} any more; Please stop my order, it is {id} | 'cancelled'
return item/start return/returns.create | Send back a product | order id/order:id, item/product:thing | I want to return the {thing} of order {id}.; Send back the {thing}, order {id} | 'started'
track package/shipment.track/parcel | Track a package | tracking number/code/number:id, carrier?:company | Where is my package {id}?; Track {id}; when does the parcel {id} arrive? | place
product reviews/get reviews/reviews.list | Get what customers say about a product | product/item:thing, limit?:#k | What do people think of the {thing}?; reviews of the {thing} | rating
apply coupon/cart.coupon | Use a discount code | code/coupon:id | Use the code {id}.; I have a coupon, {id} | 'applied'
add to cart/cart.add | Put a product into the cart | product/item:thing, quantity?:#k | Put the {thing} into my cart.; add a {thing} to the basket | 'added'

play song/music.play/play music | Play a song | song/title/track:title, artist?:full, device?:word | Play {title}.; I want to hear {title}; put on {title} please | 'playing'
create playlist/music.new_playlist/make playlist | Create a playlist | name/title:title, genre/style:genre | Make a {genre} playlist called {title}.; New playlist {title} with {genre} | 'created'
find song/song search/music.search | Search for a song | artist/singer:full, album?:title, genre/style:genre | Find {genre} songs by {full}.; I am looking for {genre} by {full} | song
song lyrics/get lyrics/lyrics.find | Get the words of a song | song/title:title, artist:full | What are the lyrics of {title} by {full}?; words of the song {title} by {full} | lyrics
set volume/change volume/speaker.volume | Change how loud it plays | level/volume:#n, device?:word | Set the volume to {n}.; Make it as loud as {n}; volume {n} | 'changed'
find concerts/concert.search/events.music | Find concerts in a city | artist/band:full, city/location:city, date?:date | Does {full} play in {city}?; concerts of {full} in {city} | concert
buy concert tickets/concert_booking.book_ticket/buy tickets | Buy tickets for an event | event/artist/name:title, tickets/number of tickets/quantity:#k, city?:city | Buy {k} tickets for {title}.; I would like {k} seats for {title} | 'bought'
find movie/movies.search/search movies | Find movies of a genre | genre/category:genre2, year?:year, director?:full | Find a {genre2} movie.; I want to watch a {genre2}; What {genre2} films are there? | movie
movie times/showtimes/cinema.times | Get when a movie is shown | movie/title:title, cinema/theater/location:city, date:day | When is {title} shown in {city} {day}?; show times of {title}, {city}, {day} | times
movie details/get movie/film.info | Get the details of a movie | title/movie/name:title, year?:year | Who directed {title}?; Tell me about the film {title}.; How long is the movie {title}? | details
rent movie/stream movie/video.rent | Rent a movie to watch it at home | movie/title:title, subtitles?:language | Rent {title}.; I want to see {title} at home tonight | 'rented'
book details/library.find_book/lookup book | Get the details of a book | title/book:title, author?:full | Who wrote {title}?; Find the book {title}.; Is {title} in the library? | author
reserve book/library.reserve | Reserve a book in the library | title/book:title, member/card number:id | Reserve {title} for the card {id}.; Keep the book {title} for me, my card is {id} | 'reserved'
sports score/match result/game.score | Get the result of a match | team:team, date?:date | How did {team} play?; result of the last {team} game; Did {team} win? | score
team ranking/league.standings/standings | Get the place of a team in its league | team:team, season/year:year | Where does {team} stand in {year}?; place of {team} in the {year} season | rank
player stats/player_stats.get/athlete statistics | Get the statistics of a player | player/name/athlete:full, season/year:year, team?:team | How did {full} do in {year}?; stats of {full} in {year} | points
schedule of games/next match/fixtures | Get the coming matches of a team | team:team, count/number:#k | When does {team} play next? Show {k} games.; the next {k} matches of {team} | matches
roll dice/dice.roll/throw dice | Throw dice | sides:#n, count/number of dice:#k | Roll {k} dice with {n} sides.; throw {k} {n}-sided dice | result
draw cards/cards.draw/deal | Draw cards from a deck | count/num cards:#k | Draw {k} cards.; Give me {k} cards from the deck | cards

translate/translate text/language.translate | Translate a text into another language | text:phrase, language/target language/to:language, from?:language | Translate "{phrase}" into {language}.; How do you say {phrase} in {language}?; {phrase} in {language} please | translation
detect language/language.detect/identify language | Find out the language of a text | text:phrase | Which language is "{phrase}"?; What language is {phrase} written in? | language
define word/dictionary.lookup/definition | Get what a word means | word/term:word, language?:language | What does {word} mean?; define {word}; meaning of the word {word} | meaning
synonyms/thesaurus.synonyms/find synonyms | Find words that mean the same | word:word, count?:#k | What is another word for {word}?; synonyms of {word} | synonyms
spell check/text.spelling/check spelling | Check the spelling of a text | text:phrase | Is "{phrase}" spelled right?; Check the spelling of {phrase} | errors
count words/text.word_count/word count | Count the words of a text | text/content:phrase | How many words are in "{phrase}"?; Count the words: {phrase} | count
sentiment/sentiment_analysis/analyze sentiment | Tell the mood of a text | text/review:phrase, language?:language | Is "{phrase}" positive or negative?; Analyze the sentiment of {phrase}. | sentiment
summarize/text.summarize/summary | Summarize a text or page | url/link:url, length?:#n | Summarize {url}.; What does {url} say, in short? | summary
reverse text/text.reverse | Turn a text around | text:phrase | Write {phrase} backwards.; reverse "{phrase}" | text

web search/search web/google | Search the internet | query/q/search term:topic, limit?:#k | Search the web for {topic}.; Look up {topic} online.; google {topic}; Find something on the internet about {topic} | result
search documents/find documents/kb.search | Search the documents of the company | query/question:topic, department?:word | What do our documents say about {topic}?; Search the handbook for {topic}.; Find documents on {topic} | document
wikipedia/encyclopedia.lookup/wiki page | Get the encyclopedia article about something | title/topic/subject:topic, language?:language | What does Wikipedia say about {topic}?; encyclopedia entry of {topic} | article
news search/get news/news.latest | Get the latest news about a topic | topic/category/keyword:topic, country?:country | What is new about {topic}?; news on {topic}; Any headlines about {topic}? | headline
open page/fetch url/browser.open | Open a web page | url/link/address:url | Open {url}.; Go to {url}; show me the page {url} | page
image search/find images/images.search | Search pictures | query/subject:thing, count/number:#k | Show me {k} pictures of a {thing}.; Find {k} images of a {thing} | images
generate image/create picture/image.generate | Make a picture from a description | prompt/description:phrase, size?:word, style?:word | Draw {phrase}.; Make a picture of {phrase} | image
population/country.population/get population | Get the number of people who live in a country | country:country, year:year | How many people lived in {country} in {year}?; population of {country} {year} | population
capital city/country.capital/get capital | Get the capital of a country | country:country | What is the capital of {country}?; capital {country} | capital
history event/history.lookup/historical date | Get when something happened | event/name:topic, detail?:word | When did {topic} happen?; Look up the date of {topic}. | date
president/history_api.president_by_year/leader | Get who led a country in a year | country:country, year:year | Who governed {country} in {year}?; leader of {country} in {year} | leader
court case/lawsuit.search/legal_case.find | Look up a court case | case/case number/docket:id, court/location:city, details?:word | Find the case {id} at the court of {city}.; What happened in case {id} in {city}? | case
patent/patent.search/find patents | Find patents of a company | company/owner:company, year/since:year | Which patents does {company} hold since {year}?; patents by {company} from {year} | patents
species info/biology.species/animal info | Get facts about an animal or plant | species/name/animal:animal, detail?:word | What do {animal} eat?; Tell me about {animal}.; How long do {animal} live? | facts
protein sequence/gene.lookup/genome.sequence | Look up a gene or protein | gene/protein/name:id, species?:animal | Show me the sequence of {id}.; What does the gene {id} do? | sequence
planet distance/astronomy.distance/orbit | Get the distance of a planet from the sun | planet/body:planet, unit?:unit | How far is {planet} from the sun?; distance of {planet} to the sun | distance

create user/add user/users.create | Create a user account | name/full name:full, email/mail:mail, role?:word | Create an account for {full} with {mail}.; New user {full}, {mail} | 'created'
get user/find user/users.get | Look up a user | user id/id/user:id | Show me user {id}.; Who is user {id}?; Get the profile of {id} | name
delete user/remove user/users.delete | Delete a user account | user id/user/id:id | Delete user {id}.; Remove the account {id} | 'deleted'
reset password/password.reset/new password | Reset the password of a user | user/username/login:word, notify?:word | Reset the password of {word}.; {word} forgot the password; I need a new password for {word} | 'reset'
query database/database.query/select rows | Get the rows of a table | table/table name:word, limit/rows:#n, where?:phrase | Show {n} rows of the table {word}.; Get me the first {n} records from {word} | rows
run sql/execute sql/db.execute | Run a statement on the database | sql/query/statement:sql | Run {sql}; Execute the query {sql} on the database | rows
create ticket/open ticket/support.create_ticket | Open a support ticket | title/subject/summary:phrase, customer/name:full, priority?:word | Open a ticket for {full}: {phrase}.; {full} reports {phrase}, make a ticket | 'opened'
ticket status/support.get_ticket/check ticket | Get how far a ticket is | ticket/ticket id/number:id | How is ticket {id} going?; Is {id} solved?; status of ticket {id} | status
close ticket/resolve ticket/support.close | Close a ticket | ticket/ticket id:id | Close ticket {id}.; {id} is solved, close it | 'closed'
assign task/tasks.assign/delegate | Give a task to a person | task/title:phrase, assignee/person/to:name | Assign {phrase} to {name}.; {name} shall do {phrase} | 'assigned'
create task/add todo/tasks.create | Add a task to the list | title/task/text:phrase, due/deadline/date:day | Add {phrase} to my tasks, due {day}.; I have to do {phrase} by {day}, note it | 'added'
list tasks/get todos/tasks.list | List what has to be done | project?:word | What do I have to do?; Show my tasks.; list my open tasks | tasks
read file/files.read/open file | Read a file | path/file/filename:file | Show me {file}.; What is in {file}?; Read the file {file} | text
write file/files.write/save file | Write text to a file | path/file:file, content/text:phrase | Write {phrase} into {file}.; Save "{phrase}" as {file} | 'written'
delete file/files.delete/remove file | Delete a file | path/file:file, force?:word | Delete {file}.; Get rid of {file}; remove the file {file} | 'deleted'
list files/files.list/ls | List the files of a folder | folder/directory/path:folder, hidden?:word | Which files are in {folder}?; ls {folder}; Show me the contents of {folder} | files
create folder/mkdir/files.create_folder | Create a folder | name/path/folder:folder | Create the folder {folder}.; mkdir {folder}; I need a new directory {folder} | 'created'
run command/shell.exec/terminal | Run a command in a shell | command/cmd:command, timeout?:#n | Run {command}.; Execute {command} in the shell | output
git commit/repo.commit/commit changes | Commit the changes in a repository | message:phrase, branch?:word | Commit with the message {phrase}.; commit my changes: {phrase} | 'committed'
create issue/repo.create_issue/report bug | Open an issue in a repository | repo/repository/project:word, title:phrase, labels?:word | Open an issue in {word}: {phrase}.; Report a bug in {word}, {phrase} | 'opened'
deploy/deploy service/release | Deploy a service to an environment | service/app:word, environment/env/stage:env | Deploy {word} to {env}.; Put {word} on {env}; release {word} to {env} | 'deployed'
restart service/service.restart/reboot | Restart a service | service/name:word | Restart {word}.; {word} hangs, please restart it | 'restarted'
server status/health check/monitor.status | Check if a server is up | server/host:word, region?:word | Is {word} up?; health of the server {word}; Is {word} down? | status
get logs/logs.fetch/tail logs | Get the last lines of a log | service/name:word, lines/limit:#n | Show the last {n} log lines of {word}.; {n} lines of the {word} log | lines
scale service/set replicas | Change how many copies of a service run | service/deployment:word, replicas/count:#k | Scale {word} to {k} replicas.; Run {k} copies of {word} | 'scaled'

turn on light/lights.on/light on | Switch on the light in a room | room/location/area:room, brightness?:#n | Turn on the light in the {room}.; It is dark in the {room}; light on, {room} | 'on'
turn off light/lights.off/light off | Switch off the light in a room | room/location/area:room | Turn off the light in the {room}.; lights out in the {room}; The {room} does not need light any more. | 'off'
set temperature/thermostat.set/set heating | Set the temperature of the heating | temperature/degrees:#n, room/zone:room | Make the {room} {n} degrees warm.; Set the heating in the {room} to {n}.; {n} degrees in the {room} please | 'set'
lock door/door.lock/lock | Lock a door | door/name:room | Lock the {room} door.; Close and lock the door of the {room} | 'locked'
open garage/garage.open | Open the garage | garage?:word | Open the garage.; I want to drive out, open the garage door | 'open'
start vacuum/robot.clean/vacuum | Let the robot clean a room | room/area:room, mode?:word | Vacuum the {room}.; The {room} is dirty, clean it | 'started'
camera/camera.show/show camera | Show the picture of a camera | camera/location/room:room | Show me the camera in the {room}.; What is going on in the {room}? | picture
water plants/irrigation.start/sprinkler | Water the garden for a while | minutes/duration:#k, zone?:word | Water the garden for {k} minutes.; sprinkler on, {k} minutes | 'started'

book appointment/doctor.book/make appointment | Make an appointment with a doctor | doctor/doctor name/with:full, date/day:day, time:time | I need to see Dr. {full} {day} at {time}.; Book an appointment with {full}, {day}, {time} | 'booked'
find doctor/doctor.search/search doctors | Find a doctor in a city | specialty/type/field:doctor, city/location:city | I need a {doctor} in {city}.; Find a {doctor} near {city} | doctor
drug info/medicine.lookup/medication | Get what a medicine is for | drug/name/medicine:drug, detail?:word | What is {drug} for?; side effects of {drug}; Tell me about {drug}. | information
body mass index/calculate bmi/health.bmi | Calculate the body mass index | weight/weight kg:#n, height/height cm:#m, unit?:unit | What is my BMI with {n} kg and {m} cm?; bmi for weight {n} and height {m} | bmi
log workout/fitness.log/record exercise | Record a workout | activity/exercise/sport:sport, minutes/duration:#n | I did {n} minutes of {sport}.; Log {sport}, {n} minutes | 'recorded'
log weight/health.weight/record weight | Record the weight of a day | weight/kg:#n, date?:date | I weigh {n} kilos today.; Write down my weight: {n} kg | 'recorded'
find gym/gym.search/fitness nearby | Find a gym in a city | location/city:city, type/class:sport | Where can I do {sport} in {city}?; gym with {sport} in {city} | gym
calories burned/fitness.calories | Compute the calories that an exercise burns | activity/sport:sport, minutes/duration:#n, weight?:#m | How many calories does {n} minutes of {sport} burn?; {sport} for {n} minutes, calories? | calories

find apartment/homes.search/search flats | Find an apartment in a city | city/area:city, bedrooms/rooms:#k, max rent?:#n | Find an apartment with {k} bedrooms in {city}.; I am looking for a flat in {city}, {k} rooms | apartment
schedule viewing/homes.visit/book visit | Make an appointment to see a home | property/home/address:title, date/day:date | I want to visit {title} on {date}.; Can I see {title} on {date}? | 'scheduled'
house price/homes.estimate/property value | Estimate what a house is worth | city/location:city, size/square meters:#n, bedrooms?:#k | What is a house of {n} square meters in {city} worth?; value of a {n} m2 home in {city} | value
find job/jobs.search/search jobs | Find open jobs | title/position/role:job, city/location:city, salary?:#n | Are there jobs as {job} in {city}?; I am looking for work as a {job} in {city} | job
apply job/jobs.apply | Apply for a job | job id/job/position:id, name/applicant:full | Apply for job {id} as {full}.; My name is {full} and I want the job {id} | 'applied'
request leave/hr.leave/time off | Ask for days off | start/from/start date:date, days/number of days:#k, reason?:word | I want {k} days off from {date}.; Request vacation: {k} days starting {date} | 'requested'
leave balance/hr.balance/vacation days | Get how many days off are left | employee/name:full, year?:year | How many days off does {full} have left?; vacation days of {full} | days
employee info/hr.employee/staff lookup | Look up an employee | employee/name/person:full, department?:word | Which department does {full} work in?; Find the employee {full}. | department
expense report/expenses.submit/claim expense | Hand in an expense | amount/cost:#n, purpose/category/description:phrase | I spent {n} on {phrase}, please refund it.; File an expense of {n} for {phrase} | 'submitted'
create invoice/invoice.new/bill customer | Write an invoice for a customer | customer/client/company:company, amount/total:#n, due?:date | Bill {company} {n} dollars.; Write an invoice of {n} to {company} | 'created'
lead/crm.add_lead/create lead | Save a possible customer | company/name:company, contact/person:full | Add {full} of {company} as a lead.; New lead: {company}, contact {full} | 'saved'
sales figures/sales.report/get revenue | Get what was sold in a period | region/country:country, year/period:year, product?:thing | How much did we sell in {country} in {year}?; sales of {year}, {country} | revenue
'''

# Words that may stand in for the first word of a tool's name or description.
VERBS = [words.split() for words in (
    'get fetch retrieve lookup show read obtain check', 'find search lookup discover locate browse query', 'calculate compute calc determine evaluate',
    'create add make register open', 'send post dispatch deliver', 'cancel delete remove drop', 'book reserve order schedule request',
    'set change update adjust configure', 'list show get browse', 'buy purchase order', 'estimate predict calculate compute')]

# Names, descriptions in other words for the tools of the Schema-Guided training dialogues.
OTHER_WORDS = '''
AddEvent | create_calendar_entry: Put an appointment into the calendar | ScheduleEntry: Save an event with its date and time
BookAppointment | make_appointment: Arrange a visit at a practice or salon | reserve_slot: Get a fixed time with a provider
BookHouse | rent_home: Rent a house for some nights | ReserveAccommodation: Book a holiday home
BuyBusTicket | purchase_coach_ticket: Pay for seats on a coach | BookBus: Reserve bus seats between two cities
BuyEventTickets | purchase_admission: Get tickets for a show or a match | BookSeats: Order seats for a concert or game
BuyMovieTickets | cinema_purchase: Order seats in the cinema | GetCinemaTickets: Pay for tickets to a film
CheckBalance | account_status: Show how much money an account holds | GetFunds: Tell the balance of savings or checking
FindApartment | flat_search: Look for homes to rent | ListFlats: Show flats by number of rooms
FindAttractions | things_to_see: List sights for visitors | TouristGuide: Show places worth a visit
FindBus | coach_search: Look up buses between two places | ListBuses: Show bus connections of a day
FindEvents | whats_on: See what happens in a city | SearchShows: Look for concerts, theater and games
FindMovies | film_search: Look for films | BrowseFilms: Show films by kind and place
FindProvider | search_practice: Look for a doctor, dentist or stylist | LocateSpecialist: Find a professional in a city
FindRestaurants | places_to_eat: Search where to have a meal | DiningSearch: List restaurants by kitchen and city
GetAvailableTime | free_slots: Show when the user has time | CheckAvailability: List open hours of a day
GetCarsAvailable | rental_search: Look for rental cars | ListCars: Show vehicles to rent
GetEventDates | event_calendar: Tell when an event takes place | WhenIsEvent: Look up the days of a show
GetEvents | agenda: Show what is planned on a day | ListAppointments: Read the calendar
GetRide | order_taxi: Send a cab | BookCab: Get a driver to a destination
GetTimesForMovie | showtimes: Tell when a film is shown | CinemaSchedule: Look up the program of a cinema
GetWeather | forecast: Tell how the weather will be | WeatherReport: Look up rain, wind and temperature
LookupMusic | song_search: Look for songs | FindTracks: Browse music by artist or style
LookupSong | music_finder: Look for a track | SearchMusic: Find music by singer, year or album
PlayMedia | start_playback: Let a song sound | StreamMusic: Play a track on a device
PlayMovie | stream_film: Show a film on the screen | WatchMovie: Start a movie
PlaySong | play_track: Let music play | StartSong: Put a song on a speaker
ReserveCar | rent_vehicle: Book a rental car | BookCar: Get a car for some days
ReserveHotel | book_room: Get a room in a hotel | HotelBooking: Reserve nights at a hotel
ReserveOnewayFlight | book_single_flight: Get seats on a flight without return | BuyOneWay: Book a flight in one direction
ReserveRestaurant | book_table: Get a table for a meal | TableReservation: Reserve seats at a restaurant
ReserveRoundtripFlights | book_return_flight: Get seats there and back | BuyReturn: Book flights with return
ScheduleVisit | arrange_viewing: Make an appointment to see a home | BookViewing: Fix a day to look at a property
SearchHotel | accommodation_search: Look for a place to stay | FindRooms: List hotels of a city
SearchHouse | holiday_homes: Look for houses to stay in | FindStay: Search a home for travellers
SearchOnewayFlight | find_single_flight: Look for flights without return | OneWayFinder: List flights in one direction
SearchRoundtripFlights | find_return_flight: Look for flights there and back | ReturnFinder: List flights with return
TransferMoney | send_funds: Move money to somebody | MakePayment: Pay money to another account
'''

# What the intents of CLINC150 would do as tools.
INTENTS = '''
accept_reservations: Tell whether a restaurant takes reservations
account_blocked: Find out why an account is blocked
alarm: Set or change alarms
application_status: Get the status of a credit card application
apr: Tell the yearly rate of a card
balance: Show the balance of an account
bill_balance: Show how much a bill is
bill_due: Tell when a bill has to be paid
book_flight: Book flights
book_hotel: Book a hotel room
calculator: Do arithmetic
calendar: Show what is on the calendar
calendar_update: Add or remove calendar entries
calories: Tell the calories of a food
cancel_reservation: Cancel a reservation at a restaurant
car_rental: Rent a car
card_declined: Find out why a card was declined
carry_on: Tell the rules for cabin bags
change_accent: Change the accent of the voice
change_language: Change the language
change_speed: Speak faster or slower
change_volume: Make the sound louder or quieter
confirm_reservation: Confirm that a table is reserved
cook_time: Tell how long something has to cook
credit_limit: Show the limit of a credit card
credit_limit_change: Ask for a higher credit limit
credit_score: Show the credit score
current_location: Tell where the user is
damaged_card: Report a damaged card
date: Tell the date
definition: Explain what a word means
direct_deposit: Set up direct deposit of the salary
directions: Show the way to a place
distance: Tell how far or how long a way is
exchange_rate: Convert money between currencies
expiration_date: Tell when a card expires
find_phone: Help to find a lost phone
flight_status: Tell whether a flight is on time
flip_coin: Flip a coin
food_last: Tell how long food keeps
freeze_account: Block an account
gas: Tell how much fuel is in the tank
gas_type: Tell which fuel a car needs
how_busy: Tell how crowded a restaurant is
improve_credit_score: Give advice for a better credit score
income: Tell the salary of the user
ingredient_substitution: Name what can replace an ingredient
ingredients_list: List the ingredients of a dish
insurance: Show the insurance and its benefits
insurance_change: Change the insurance
interest_rate: Tell the interest of an account
international_fees: Tell the fees of a card abroad
international_visa: Tell whether a visa is needed
jump_start: Explain how to start a car with an empty battery
last_maintenance: Tell when the car was last serviced
lost_luggage: Report or find lost luggage
make_call: Call a person
meal_suggestion: Suggest a dish
measurement_conversion: Convert units of measurement
meeting_schedule: Show the meetings of the day
min_payment: Tell the smallest payment of a bill
mpg: Tell how much fuel the car uses
new_card: Apply for a new credit card
next_holiday: Tell the next public holiday
next_song: Skip to the next track
nutrition_info: Tell how healthy a food is
oil_change_how: Explain how to change the oil
oil_change_when: Tell when the oil has to be changed
order: Order products
order_checks: Order a book of cheques
order_status: Tell where an order is
pay_bill: Pay a bill
payday: Tell when the salary comes
pin_change: Change the secret number of a card
play_music: Play music
plug_type: Tell which sockets a country has
pto_balance: Tell how many days off are left
pto_request: Ask for days off
pto_request_status: Tell whether days off were approved
pto_used: Tell how many days off were taken
recipe: Find a recipe
redeem_rewards: Use the points of a card
reminder: List the reminders
reminder_update: Add a reminder
replacement_card_duration: Tell how long a new card takes
report_fraud: Report fraud on an account
report_lost_card: Report a lost or stolen card
reset_settings: Go back to factory settings
restaurant_reservation: Reserve a table
restaurant_reviews: Show what people think of a restaurant
restaurant_suggestion: Suggest where to eat
rewards_balance: Show the points of a card
roll_dice: Roll dice
rollover_401k: Move retirement savings
routing: Tell the routing number of a bank
schedule_maintenance: Book a service for the car
schedule_meeting: Schedule a meeting or a room for it
share_location: Send the location to somebody
shopping_list: Read the shopping list
shopping_list_update: Add to or remove from the shopping list
smart_home: Control lights, doors and heating at home
spelling: Spell a word
spending_history: Show where the money went
sync_device: Connect a phone or another device
taxes: Tell about the taxes to pay
text: Send a text message
time: Tell the time
timer: Start or stop a timer
timezone: Tell the time zone of a place
tire_change: Tell when tires have to be changed
tire_pressure: Tell the air pressure in the tires
todo_list: Read the list of things to do
todo_list_update: Add to or remove from the list of things to do
traffic: Tell how the traffic is
transactions: Show the latest transactions
transfer: Move money between accounts
translate: Translate into another language
travel_alert: Tell whether it is safe to travel to a place
travel_notification: Tell the bank about a journey
travel_suggestion: Suggest what to see in a place
uber: Get a ride
update_playlist: Add a song to a playlist
user_name: Tell the name of the user
vaccines: Tell which vaccinations a country needs
w2: Get the tax form
weather: Tell the weather
what_song: Tell which song is playing
whisper_mode: Speak quietly
'''


def families():
    """[(group, names, descriptions, [(keys, placeholder, listed only)], asks, result)]"""
    found = []
    for group, block in enumerate(LINES.strip().split('\n\n')):
        for line in block.split('\n'):
            names, descriptions, arguments, asks, result = (part.strip() for part in line.split(' | '))
            parsed = []
            for argument in filter(None, arguments.split(', ')):
                keys, placeholder = argument.split(':')
                parsed.append((keys.rstrip('?').split('/'), placeholder, keys.endswith('?')))
            found.append((group, names.split('/'), descriptions.split('; '), parsed, asks.split('; '), result))
    return found


def other_words():
    """Tool name -> [(other name, other description)]."""
    table = {}
    for line in OTHER_WORDS.strip().split('\n'):
        name, *forms = line.split(' | ')
        table[name] = [tuple(form.split(': ')) for form in forms]
    return table


def intents():
    return dict(line.split(': ') for line in INTENTS.strip().split('\n'))
