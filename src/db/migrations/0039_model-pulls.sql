CREATE TABLE "model_pulls" (
	"location" text NOT NULL,
	"name" text NOT NULL,
	"source" text NOT NULL,
	"state" text NOT NULL,
	"received_bytes" bigint NOT NULL,
	"total_bytes" bigint,
	"detail" text,
	"started_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"cancel_requested" boolean DEFAULT false NOT NULL,
	CONSTRAINT "model_pulls_location_name_pk" PRIMARY KEY("location","name")
);
