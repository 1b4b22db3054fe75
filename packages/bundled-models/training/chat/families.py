"""Made-up tools, many and unlike: what each is called, what it does, its arguments and ways to ask for it.

A line of families.txt is `names | description | arguments | asks | result`, alternatives separated by `/` in names and in an argument's key, by
`;` in descriptions and asks. An argument is `key/key:placeholder`; one that ends in `?` is listed but not asked for. `result` is
the noun of what comes back, or a word in quotes that an action ends with. Groups, separated by blank lines, hold tools that are
easily taken for each other.
"""
import os

# Words that may stand in for the first word of a tool's name or description.
VERBS = [words.split() for words in (
    'get fetch retrieve lookup show read obtain check', 'find search lookup discover locate browse query', 'calculate compute calc determine evaluate',
    'create add make register open', 'send post dispatch deliver', 'cancel delete remove drop', 'book reserve order schedule request',
    'set change update adjust configure', 'list show get browse', 'buy purchase order', 'estimate predict calculate compute')]

# Alternative names and descriptions of the tools of the Schema-Guided training dialogues.
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

# Tools for the intents of CLINC150.
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
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'families.txt'), encoding='utf-8') as file:
        blocks = file.read().strip().split('\n\n')
    for group, block in enumerate(blocks):
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
